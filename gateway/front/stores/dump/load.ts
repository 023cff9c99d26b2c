import { randomUUID } from 'node:crypto'
import { kindNameOf, type Kind, type KindName } from './kind.ts'
import { kinds, TakenKey } from './kinds.ts'
import { DumpFault } from './read.ts'
import type { Row } from './rows.ts'
import type { WrittenStore } from './store.ts'

/** The numbers of rows that were loaded, by their kinds. */
export type Loaded = Readonly<Record<KindName, number>>

/** Makes the function that shows how many rows of a kind have come. */
type Progress = (kind: string, total: undefined) => (done: number) => void

/**
 * Loads rows into a store without keys; without a store, rows are only checked and counted. Keys come when the last row was
 * good, and work when all of them are there: whatever ends a load before, no key works.
 */
export async function load(
  rows: AsyncIterable<readonly Row[]>,
  goal: WrittenStore | undefined,
  progress: Progress = () => () => undefined,
): Promise<Loaded> {
  const by = randomUUID()
  const counts = Object.fromEntries(kinds.map(({ name }) => [name, 0])) as Record<KindName, number>
  // The first line of a dump is no row.
  let [line, firstLine, place, number] = [1, 2, -1, 0]
  let kind: Kind | undefined
  let items: unknown[] = []
  let draw: (done: number) => void = () => undefined
  const flush = async (): Promise<void> => {
    if (goal && items.length > 0) await kind?.put(goal, items, { by, number: ++number })
    items = []
  }
  for await (const batch of rows) {
    for (const row of batch) {
      line++
      const next = kinds.findIndex(({ shelf, name }) => {
        return shelf === row.shelf && name === kindNameOf(row)
      })
      if (next === -1 || next < place) {
        const why = next === -1 ? 'is unknown' : `is behind rows of ${kind?.name}`
        throw new DumpFault(line, `${JSON.stringify(kindNameOf(row).slice(0, 40))} ${why}`)
      }
      if (next > place) {
        await flush()
        ;[place, kind, firstLine] = [next, kinds[next], line]
        draw = progress(kind?.name ?? '', undefined)
      }
      const found = kind?.itemsIn(row)
      if (!found || !kind) throw new DumpFault(line, 'the row is damaged')
      if (goal) for (const item of found) items.push(item)
      if (!('key' in row && row.key === '')) counts[kind.name]++
      if (items.length >= (kind.atOnce ?? Infinity)) await flush()
    }
    if (kind) draw(counts[kind.name])
  }
  await flush().catch((error: unknown) => {
    throw error instanceof TakenKey ? new DumpFault(firstLine + error.index, error.message) : error
  })
  return counts
}
