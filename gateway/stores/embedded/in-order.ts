import { breathe } from '../../../shared/breathe.ts'

/** How many are handed out in one go: a gateway serves in between, and other processes write. */
const batchSize = 500

/** How many are looked at in one go. */
const lookedAtSize = 5_000

/** By how many characters items are sorted at first, into heaps that are small enough to be sorted in one go. */
const prefixLength = 2

/**
 * Hands out items in batches, in the order of a text of theirs, which for random texts is that of an index. With each
 * batch comes how many that makes. However many there are, the loop goes round in between.
 */
export async function* inOrder<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
): AsyncGenerator<readonly [batch: readonly Item[], done: number]> {
  const heaps = new Map<string, Item[]>()
  for (const [place, item] of items.entries()) {
    const prefix = textOf(item).slice(0, prefixLength)
    const heap = heaps.get(prefix)
    if (heap) heap.push(item)
    else heaps.set(prefix, [item])
    if (place % lookedAtSize === lookedAtSize - 1) await breathe()
  }
  let batch: Item[] = []
  let done = 0
  for (const [, heap] of [...heaps].sort(([a], [b]) => (a < b ? -1 : 1))) {
    heap.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1))
    for (const item of heap) {
      if (batch.push(item) < batchSize) continue
      yield [batch, (done += batch.length)]
      await breathe()
      batch = []
    }
  }
  if (batch.length > 0) yield [batch, done + batch.length]
}
