/** A row of CSV. */
export type CsvRow = readonly (string | number | boolean)[]

/** Rows as CSV, with a line of names. */
export function csvText(names: CsvRow, rows: readonly CsvRow[]): string {
  return [names, ...rows].map((row) => row.map(cell).join(',')).join('\r\n')
}

/**
 * A field of CSV in quotes. An apostrophe makes a formula into text, also after a semicolon: where semicolons separate
 * fields, a spreadsheet may begin a new cell there. A number below 0 is no formula.
 */
function cell(value: CsvRow[number]): string {
  if (typeof value !== 'string') return `"${value}"`
  const safe = value.replace(/(^|[;\t\r\n])(\s*)(?=[=+\-@＝＋－＠])/g, "$1$2'")
  return `"${safe.replaceAll('"', '""')}"`
}
