/** Rows as CSV, with a line of names. */
export function csvText(
  names: readonly string[],
  rows: readonly (readonly (string | number | boolean)[])[],
): string {
  return [names, ...rows]
    .map((row) => row.map((value) => cell(String(value))).join(','))
    .join('\r\n')
}

/**
 * A field of CSV in quotes. An apostrophe makes a formula into text, also after a semicolon: where semicolons separate
 * fields, a spreadsheet may begin a new cell there.
 */
function cell(value: string): string {
  const safe = value.replace(/(^|[;\t\r\n])(\s*)(?=[=+\-@＝＋－＠])/g, "$1$2'")
  return `"${safe.replaceAll('"', '""')}"`
}
