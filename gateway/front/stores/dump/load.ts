import { randomUUID } from 'node:crypto'
import type { Kind, KindName } from './kind.ts'
import { kinds, TakenKey } from './kinds.ts'
import { DumpFault, type PlacedRow } from './read.ts'
import type { Row } from './rows.ts'
import type { WrittenStore } from './store.ts'

/** The numbers of rows that were loaded, by their kinds. */
export type Loaded = Readonly<Record<KindName, number>>

export type LoadOptions = Readonly<{
  /** Without one, rows are only checked and counted. */
  goal: WrittenStore | undefined
  /** Called with the number of rows of a kind so far. */
  progress?: (kind: KindName, done: number) => void
}>

/**
 * Loads rows into a store without keys. Keys come when the last row was good, and work when all of them are there: whatever
 * ends a load before, no key works.
 */
export async function load(
  rows: AsyncIterable<readonly PlacedRow[]>,
  { goal, progress }: LoadOptions,
): Promise<Loaded> {
  const by = randomUUID()
  const counts = Object.fromEntries(
    kinds.flatMap(({ name }) => (name ? [[name, 0]] : [])),
  ) as Record<KindName, number>
  let place = 0
  let kind: Kind | undefined = kinds[0]
  let [number, firstLine] = [0, 0]
  let items: unknown[] = []
  const flush = async (): Promise<void> => {
    const some = items
    items = []
    if (goal && some.length > 0) await kind?.put(goal, some, { by, number: ++number })
  }
  for await (const batch of rows) {
    for (const { row, line } of batch) {
      const next = placeOf(row)
      if (next === -1) throw new DumpFault(line, `${nameOf(row)} is unknown`)
      if (next < place)
        throw new DumpFault(line, `${nameOf(row)} is behind those of ${kind?.shelf}`)
      if (next > place) {
        await flush()
        ;[place, kind, firstLine] = [next, kinds[next], line]
      }
      const found = kind?.itemsIn(row)
      if (!found || !kind) throw new DumpFault(line, `the row is damaged (${nameOf(row)})`)
      if (goal) for (const item of found) items.push(item)
      if (kind.name) counts[kind.name]++
      if (items.length >= (kind.atOnce ?? Infinity)) await flush()
    }
    if (kind?.name) progress?.(kind.name, counts[kind.name])
  }
  await flush().catch((error: unknown) => {
    throw error instanceof TakenKey ? new DumpFault(firstLine + error.index, error.message) : error
  })
  return counts
}

function placeOf(row: Row): number {
  const part = partOf(row)
  return kinds.findIndex((each) => each.shelf === row.shelf && each.part === part)
}

function partOf(row: Row): string {
  if (row.shelf === 'counts') return row.space
  if (row.shelf === 'lists') return row.list
  return row.shelf === 'documents' ? row.folder : ''
}

function nameOf(row: Row): string {
  const part = partOf(row)
  return `a row of ${row.shelf}${part === '' ? '' : ` (${JSON.stringify(part.slice(0, 40))})`}`
}
