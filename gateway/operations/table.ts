import { printable } from '../../shared/printable.ts'

/** Rows with aligned columns. */
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

/** A day and time for people, in UTC; `otherwise` if there is none. */
export function timeText(ms: number | undefined, otherwise = ''): string {
  return ms === undefined
    ? otherwise
    : `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')}Z`
}

/** The end of something, in UTC: rounded up to a second; without seconds at the beginning of a minute. */
export function endText(ms: number): string {
  const endMs = Math.ceil(ms / 1_000) * 1_000
  const text = new Date(endMs).toISOString()
  return endMs % 60_000 === 0 ? timeText(endMs) : `${text.slice(0, 19).replace('T', ' ')}Z`
}
