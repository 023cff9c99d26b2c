/** What an operator asked for and can't have, as a sentence that says why and what would do. */
export class KeyMistake extends Error {}
