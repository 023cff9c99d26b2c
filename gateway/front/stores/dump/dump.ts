import { kinds } from './kinds.ts'
import type { Reading } from './kind.ts'
import { format, type Row } from './rows.ts'
import type { ReadStore } from './store.ts'

/** The length of a piece of a dump: rows by themselves cost several times as much to write. */
const pieceLength = 65_536

/** The rows of a store, some at a time, while gateways may serve from it. Damaged entries are left out. */
export async function* rowsOf(store: ReadStore, reading: Reading): AsyncGenerator<readonly Row[]> {
  for (const kind of kinds) {
    for await (const rows of kind.rows(store, reading)) if (rows.length > 0) yield rows
  }
}

/** The text of a dump in pieces, without the last line's end. Only as much is read as is taken. */
export async function* dumpOf(
  store: ReadStore,
  reading: Reading,
  progress: (rows: number) => void = () => undefined,
): AsyncGenerator<string, void> {
  let piece = JSON.stringify({ tollgate: 'dump', format, atMs: reading.nowMs })
  let count = 0
  for await (const rows of rowsOf(store, reading)) {
    for (const row of rows) {
      piece += `\n${JSON.stringify(row)}`
      if (piece.length < pieceLength) continue
      yield piece
      piece = ''
    }
    progress((count += rows.length))
  }
  yield `${piece}\n${JSON.stringify({ end: true, rows: count })}`
}
