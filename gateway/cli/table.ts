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

/** Rows with their columns under each other; the first row of a table names the columns. */
export function aligned(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(printable))
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)))
  }
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  return rows.map(line).join('\n')
}

/** A day and time as people read it, in UTC. */
export function timeText(ms: number | undefined, otherwise = ''): string {
  return ms === undefined
    ? otherwise
    : `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')}Z`
}
