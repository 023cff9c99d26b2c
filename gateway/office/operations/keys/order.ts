import { latestDays, countsOn } from '../../../front/counts/usage.ts'
import { lastUse, type KeyInUse } from '../../../front/keys/last-use-store.ts'
import { endOf } from '../../../front/keys/line.ts'
import type { Context } from '../context.ts'
import { cursorOf, type KeyOrder, type KeyPlace } from './place.ts'

/** A page of keys, and the cursor of the next one if there are more. */
export type PageOfKeys = Readonly<{ keys: readonly KeyInUse[]; next?: string | undefined }>

/** Keys that are held beside those of a page before the last ones are dropped. */
const spare = 1_000

type OrderQuery = Readonly<{ order: KeyOrder; limit: number; after: KeyPlace | undefined }>

/** Reads a page of keys in an order; equal ones are by name. It holds little more than a page. */
export async function pageInOrder(
  keys: AsyncIterable<KeyInUse>,
  { order, limit, after }: OrderQuery,
  context: Context,
): Promise<PageOfKeys> {
  const figureOf = await figuresOf(order, context)
  let first: Placed[] = []
  for await (const inUse of keys) {
    const placed = { inUse, figure: figureOf(inUse), end: endOf(inUse.key) }
    if (after && byPlace(placed, after) <= 0) continue
    if (first.push(placed) > limit + spare) first = first.sort(byPlace).slice(0, limit + 1)
  }
  const page = first.sort(byPlace).slice(0, limit)
  const last = first.length > limit ? page.at(-1) : undefined
  return {
    keys: page.map(({ inUse }) => inUse),
    next: last && cursorOf({ ...last, order }),
  }
}

type Placed = KeyPlace & Readonly<{ inUse: KeyInUse }>

function byPlace(a: KeyPlace, b: KeyPlace): number {
  return b.figure - a.figure || (a.end < b.end ? -1 : a.end > b.end ? 1 : 0)
}

/** Gives the figure by which a key has its place. */
async function figuresOf(
  order: KeyOrder,
  { stores, clock, flush }: Context,
): Promise<(inUse: KeyInUse) => number> {
  if (order === 'recent') return ({ uses }) => lastUse(uses) ?? 0
  await flush()
  const counts = await countsOn(stores().tallies, latestDays(1, clock()).toDay)
  const kind = order === 'use' ? 'admitted' : 'refused'
  return ({ key }) => counts.get(key.id)?.[kind] ?? 0
}
