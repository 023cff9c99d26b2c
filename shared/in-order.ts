import { breathe } from './breathe.ts'

/** Items per batch: between two batches a gateway serves, and other processes write. */
const usualBatch = 500

/** Items that are grouped in one turn of the loop. */
const groupedAtOnce = 5_000

/** Items are first grouped by this many characters, into groups that are small enough to sort in one turn. */
const prefixLength = 2

/**
 * Yields items in batches, in the order of a text of each, which is the order of an index. With each batch
 * comes the number of items so far. The event loop runs in between, whatever the number of items.
 */
export async function* inOrder<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
  batchSize: number = usualBatch,
): AsyncGenerator<readonly [batch: readonly Item[], done: number]> {
  const groups = new Map<string, Item[]>()
  for (const [index, item] of items.entries()) {
    const prefix = textOf(item).slice(0, prefixLength)
    const group = groups.get(prefix)
    if (group) group.push(item)
    else groups.set(prefix, [item])
    if (index % groupedAtOnce === groupedAtOnce - 1) await breathe()
  }
  let batch: Item[] = []
  let done = 0
  for (const [, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    group.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1))
    for (const item of group) {
      if (batch.push(item) < batchSize) continue
      yield [batch, (done += batch.length)]
      await breathe()
      batch = []
    }
  }
  if (batch.length > 0) yield [batch, done + batch.length]
}
