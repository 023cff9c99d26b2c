/**
 * A text as it can be written to a terminal: what a terminal would obey, or not show, is escaped. A backend or a
 * caller may have chosen it.
 */
export function printable(text: string): string {
  return text.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`,
  )
}
