import { withCommas } from '../../../shared/commas.ts'
import { printable } from '../../../shared/printable.ts'

/** A text, or a number, which has commas between its thousands. */
export type Cell = string | number

/** Rows with aligned columns. */
export function aligned(cells: readonly (readonly Cell[])[]): string {
  const rows = cells.map((row) => row.map(cellText))
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

function cellText(cell: Cell): string {
  return typeof cell === 'number' ? withCommas(cell) : printable(cell)
}
