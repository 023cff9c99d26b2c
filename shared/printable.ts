/**
 * A text for a terminal: characters that control it, or that it doesn't show, are escaped. A backend or a caller may
 * have chosen the text.
 */
export function printable(text: string): string {
  // Most texts: a tenth of the time, which counts in a report of a million cells.
  if (/^[\x20-\x7e]*$/.test(text)) return text
  return text.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`,
  )
}
