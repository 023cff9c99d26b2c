import { breathe } from './breathe.ts'

/** Items that are handled in one turn of the loop: about a millisecond. */
const itemsInTurn = 1_000

/** Gives the items one by one. The event loop serves requests in between, whatever their number. */
export async function* inTurns<Item>(items: Iterable<Item>): AsyncGenerator<Item, void> {
  let count = 0
  for (const item of items) {
    yield item
    if (++count % itemsInTurn === 0) await breathe()
  }
}

/** Sorts items in turns of the loop: at once, 100,000 hold requests up for 100 ms. */
export async function sortedInTurns<Item>(
  items: readonly Item[],
  order: (a: Item, b: Item) => number,
): Promise<Item[]> {
  let runs: Item[][] = []
  for (let start = 0; start < items.length; start += itemsInTurn) {
    runs.push(items.slice(start, start + itemsInTurn).sort(order))
    await breathe()
  }
  while (runs.length > 1) {
    const longer: Item[][] = []
    for (let i = 0; i < runs.length; i += 2) {
      longer.push(await merged(runs[i] ?? [], runs[i + 1] ?? [], order))
    }
    runs = longer
  }
  return runs[0] ?? []
}

/** The first `count` items in an order. It takes the loop for as little as `sortedInTurns`, and compares far less. */
export async function firstInTurns<Item>(
  items: readonly Item[],
  order: (a: Item, b: Item) => number,
  count: number,
): Promise<Item[]> {
  let first: Item[] = []
  for (let start = 0; start < items.length; start += itemsInTurn) {
    const last = first.length < count ? undefined : first[count - 1]
    const some = items.slice(start, start + itemsInTurn)
    const better = last === undefined ? some : some.filter((item) => order(item, last) < 0)
    first = (await merged(first, better.sort(order), order)).slice(0, count)
    await breathe()
  }
  return first
}

/** Both lists in one; of equal items, those of the first list come first. */
async function merged<Item>(
  first: readonly Item[],
  second: readonly Item[],
  order: (a: Item, b: Item) => number,
): Promise<Item[]> {
  const all: Item[] = []
  let [i, j] = [0, 0]
  for (;;) {
    const [a, b] = [first[i], second[j]]
    if (a === undefined || b === undefined) break
    if (order(a, b) <= 0) {
      all.push(a)
      i++
    } else {
      all.push(b)
      j++
    }
    if (all.length % itemsInTurn === 0) await breathe()
  }
  return all.concat(first.slice(i), second.slice(j))
}
