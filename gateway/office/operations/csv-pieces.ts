import { csvText, type CsvRow } from '../../../shared/csv-text.ts'

/** Rows of CSV in one piece. */
const rowsPerPiece = 500

/** A list of any length as CSV, in pieces, with a line of names. */
export async function* csvPieces<Item>(
  names: CsvRow,
  items: Iterable<Item> | AsyncIterable<Item>,
  rowOf: (item: Item) => CsvRow,
): AsyncGenerator<string, void> {
  yield csvText(names, [])
  let rows: CsvRow[] = []
  const piece = (): string => `\r\n${csvText(rows[0] ?? [], rows.slice(1))}`
  for await (const item of items) {
    if (rows.push(rowOf(item)) < rowsPerPiece) continue
    yield piece()
    rows = []
  }
  if (rows.length > 0) yield piece()
}
