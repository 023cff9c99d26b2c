/** A setting that can't be changed in a file's text. The sentence says why, and what to do instead. */
export class EditMistake extends Error {}
