import { damaged, type Entries, type ReadStore, type WrittenStore } from './store.ts'
import type { Row, RowOf, Shelf } from './rows.ts'

/** What is told of a dump that is made. */
export type Reading = { readonly nowMs: number; damaged: number }

/** The load, and the number of this batch of it: stores of counts add a batch once. */
export type Numbering = Readonly<{ by: string; number: number }>

/** A kind of rows: how a store gives them, and how it takes what they hold. */
export interface Kind<Name extends Shelf = Shelf, Item = unknown> {
  readonly shelf: Name
  /** The space, the list or the folder of the shelf, or the shelf itself, which then has one kind. */
  readonly name: KindName
  /** The items that are put at a time; without it, all of them, when the last row was good. */
  readonly atOnce?: number
  /** The rows, some at a time. Those of a quiet store come in one order. */
  rows(store: ReadStore, reading: Reading): AsyncIterable<readonly RowOf<Name>[]>
  /** The items of a row; `undefined` if it is damaged. */
  itemsIn(row: RowOf<Name>): readonly Item[] | undefined
  put(store: WrittenStore, items: readonly Item[], batch: Numbering): Promise<void>
}

export type KindName = 'quotas' | 'tallies' | 'peaks' | 'uses' | 'audit' | 'ledger' | 'keys'

/** The name of the kind that a row says to be of. */
export function kindNameOf(row: Row): string {
  if (row.shelf === 'counts') return row.space
  if (row.shelf === 'lists') return row.list
  return row.shelf === 'documents' ? row.folder : row.shelf
}

/** Entries that are read at a time. */
const entriesAtOnce = 500

/** The entries that have names, in the order of these, some at a time. */
export async function* entriesOf<Item>(
  { names, of }: Entries<Item>,
  reading: Reading,
): AsyncGenerator<(readonly [name: string, item: Item])[]> {
  const all = (await names()).sort()
  for (let start = 0; start < all.length; start += entriesAtOnce) {
    const some = all.slice(start, start + entriesAtOnce)
    const found = await of(some)
    reading.damaged += found.filter((each) => each === damaged).length
    yield some.flatMap((name, i) => {
      const item = found[i]
      return item === undefined || item === damaged ? [] : [[name, item] as const]
    })
  }
}
