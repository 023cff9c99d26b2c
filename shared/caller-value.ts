/** Printable ASCII without `%`, and without a space at either end. */
const plain = /^(?! )[ -$&-~]*(?<! )$/

/** A text in a header about the caller: as it is where that is plain, else percent-encoded, so that `decodeURIComponent` gives it. */
export function callerValue(text: string): string {
  return plain.test(text) ? text : encodeURIComponent(text.toWellFormed())
}

/** The text of such a header; `undefined` if nobody has encoded it so. */
export function callerText(value: string): string | undefined {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
