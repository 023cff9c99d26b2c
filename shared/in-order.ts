import { breathe } from './breathe.ts'

/** Items per batch: between two batches a gateway serves, and other processes write. */
const usualBatch = 500

/** Items that are sorted or merged in one turn of the loop. */
const itemsInTurn = 500

/**
 * Items in the order of a text of each, sorted while the event loop runs in between: at once, 100,000 hold it up for 80 ms.
 * A part that is in order already costs little.
 */
export async function sortedBy<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
): Promise<Item[]> {
  const isBefore = (a: Item, b: Item): boolean => textOf(a) < textOf(b)
  let runs: Item[][] = []
  // Others may be added meanwhile.
  const { length } = items
  for (let start = 0; start < length; start += itemsInTurn) {
    runs.push(
      items
        .slice(start, Math.min(start + itemsInTurn, length))
        .sort((a, b) => (isBefore(a, b) ? -1 : 1)),
    )
    await breathe()
  }
  while (runs.length > 1) {
    const merged: Item[][] = []
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(await mergedRuns(runs[i] ?? [], runs[i + 1] ?? [], isBefore))
    }
    runs = merged
  }
  return runs[0] ?? []
}

async function mergedRuns<Item>(
  one: readonly Item[],
  other: readonly Item[],
  isBefore: (a: Item, b: Item) => boolean,
): Promise<Item[]> {
  const merged: Item[] = []
  let [i, j] = [0, 0]
  let [a, b] = [one.at(-1), other[0]]
  // Mostly the one run ends before the other begins.
  if (a !== undefined && b !== undefined && isBefore(b, a)) {
    for (a = one[0]; a !== undefined && b !== undefined;) {
      if (isBefore(b, a)) {
        merged.push(b)
        b = other[++j]
      } else {
        merged.push(a)
        a = one[++i]
      }
      if (merged.length % itemsInTurn === 0) await breathe()
    }
  }
  return merged.concat(one.slice(i), other.slice(j))
}

/**
 * Yields items in batches, and with each the number of items so far. The event loop runs in between, whatever the number of
 * items.
 */
export async function* inBatches<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  batchSize: number = usualBatch,
): AsyncGenerator<readonly [batch: readonly Item[], done: number]> {
  let done = 0
  let batch: Item[] = []
  for await (const item of items) {
    if (batch.push(item) < batchSize) continue
    yield [batch, (done += batch.length)]
    batch = []
    await breathe()
  }
  if (batch.length > 0) yield [batch, done + batch.length]
}

/** The same in the order of a text of each, which is the order of an index. */
export async function* inOrder<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
  batchSize?: number,
): AsyncGenerator<readonly [batch: readonly Item[], done: number]> {
  yield* inBatches(await sortedBy(items, textOf), batchSize)
}
