import { countsOn, latestDays } from '../../../front/counts/usage.ts'
import { wantedBy, type KeyFilter } from '../../../front/keys/filter.ts'
import {
  inUse,
  isByUse,
  pageInUse,
  wantedByUse,
  type PageInUse,
  type UseFilter,
} from '../../../front/keys/in-use.ts'
import type { KeyInUse } from '../../../front/keys/last-use-store.ts'
import { cursorAt } from '../../../front/keys/line.ts'
import { keyView, type KeyView } from '../../../front/keys/view.ts'
import type { Context } from '../context.ts'
import { Listed } from '../listed.ts'
import { WrongInput } from '../operation.ts'
import { pageInOrder, type PageOfKeys } from './order.ts'
import type { KeyOrder, KeyPlace } from './place.ts'
import { withCommas } from '../../../../shared/commas.ts'
import { StoreDamaged } from '../../../../shared/store-errors.ts'
import type { KeyStanding, UsedWindow } from '../key-standing.ts'

/** The keys on a page unless told. */
export const usualPage = 50

/** The keys to list: all that are wanted, or, if `limit`, `after`, `sort` or `standing` is given, a page of them. */
export type ListQuery = KeyFilter &
  UseFilter &
  Readonly<{
    limit?: number | undefined
    after?: KeyPlace | undefined
    sort?: KeyOrder | undefined
    standing?: boolean | undefined
  }>

/** All wanted keys, or a page of them. */
export type Listing = Awaited<ReturnType<typeof listingOf>>

/** Reads the keys that a query is about. */
export async function listingOf(context: Context, query: ListQuery) {
  const { limit, after, standing = false, sort, ...filters } = query
  const { unused, neverUsed, oldTokenUsed, ...filter } = filters
  const byUse = { unused, neverUsed, oldTokenUsed }
  const { stores, desks, clock, flush } = context
  const { keys, quotas } = desks()
  const { lastUses: store, tallies } = stores()
  const nowMs = clock()
  /** The time since which uses are known, if it matters. */
  const sinceMs = isByUse(byUse) ? await store.since() : undefined
  const isWanted = isByUse(byUse) ? wantedByUse(byUse, { nowMs, sinceMs }) : undefined
  const all = (): AsyncIterable<KeyInUse> => {
    const some = inUse(wanted(keys.list(), wantedBy(filter, nowMs)), store)
    return isWanted ? wanted(some, isWanted) : some
  }
  /** The requests of today, by the ids of keys. */
  const today = async (ids?: readonly string[]) => {
    await flush()
    return countsOn(tallies, latestDays(1, nowMs).toDay, ids)
  }
  const bans = await quotas.banEnds()
  const isFiltered = Object.values(filters).some((each) => each !== undefined)
  const view = (inUse: KeyInUse): KeyView =>
    keyView(inUse.key, clock(), { bannedUntilMs: bans.get(inUse.key.id), inUse })
  const shared = { bans, isFiltered, plan: filter.plan, byUse, sinceMs, view }
  if ((limit ?? after ?? sort) === undefined && !standing) {
    const each = all()
    const list = new Listed(each, byAge, view)
    return { ...shared, each, list, page: undefined, standings: undefined, today: () => today() }
  }
  if (after && after.order !== sort) {
    throw new WrongInput('the cursor is of another order: without it, this one begins')
  }
  const most = limit ?? usualPage
  const read = (limit: number, after: string | undefined) => keys.page({ filter, limit, after })
  const page = sort
    ? await pageInOrder(all(), { order: sort, limit: most, after }, context)
    : byName(await pageInUse({ read, limit: most, after: after?.end, store, isWanted }))
  const standings = standing || sort ? await standingsOf(page.keys, context) : undefined
  const ids = page.keys.map(({ key }) => key.id)
  return { ...shared, each: page.keys, list: undefined, page, standings, today: () => today(ids) }
}

function byName({ keys, end }: PageInUse): PageOfKeys {
  return { keys, next: end === undefined ? undefined : cursorAt(end) }
}

async function* wanted<Item>(
  keys: AsyncIterable<Item>,
  isWanted: (key: Item) => boolean,
): AsyncGenerator<Item, void> {
  for await (const key of keys) if (isWanted(key)) yield key
}

function byAge({ key: a }: KeyInUse, { key: b }: KeyInUse): number {
  return a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1)
}

/** How keys stand with their limits, and their requests of today, by their ids. */
export type Standings = ReadonlyMap<
  string,
  { standing: KeyStanding; admittedToday: number; refusedToday: number }
>

/** Asks the stores for all keys of a page together. A key whose counters are damaged has no standing. */
async function standingsOf(
  keys: readonly KeyInUse[],
  { stores, desks, clock, flush }: Context,
): Promise<Standings> {
  await flush()
  const { quotas } = desks()
  const ids = keys.map(({ key }) => key.id)
  const [standings, counts] = await Promise.all([
    Promise.all(keys.map(({ key }) => quotas.standing(key).catch(absentIfDamaged))),
    countsOn(stores().tallies, latestDays(1, clock()).toDay, ids),
  ])
  return new Map(
    standings.flatMap((standing, i) => {
      const id = ids[i] ?? ''
      const { admitted = 0, refused = 0 } = counts.get(id) ?? {}
      return standing
        ? [[id, { standing, admittedToday: admitted, refusedToday: refused }] as const]
        : []
    }),
  )
}

function absentIfDamaged(error: unknown): undefined {
  if (!(error instanceof StoreDamaged)) throw error
}

/** The use of a window, such as `23/60`. */
export function windowText(window: UsedWindow | null | undefined): string {
  if (!window) return ''
  return `${withCommas(window.used)}/${window.limit === null ? 'unlimited' : withCommas(window.limit)}`
}
