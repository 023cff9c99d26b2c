/** No gateway answers at the admin address of the configuration. */
export class NoAnswer extends Error {}
