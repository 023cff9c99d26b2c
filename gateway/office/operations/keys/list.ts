import { timeText } from '../../../../shared/times.ts'
import { inUse, isByUse, pageInUse, wantedByUse } from '../../../front/keys/in-use.ts'
import type { PageInUse, UseFilter } from '../../../front/keys/in-use.ts'
import { wantedBy } from '../../../front/keys/filter.ts'
import { cursorAt } from '../../../front/keys/line.ts'
import { settingsAt } from '../../../front/keys/temporary.ts'
import { keyView, type KeyView } from '../../../front/keys/view.ts'
import { Listed } from '../listed.ts'
import { age, keyState, pageCursor, pageSize } from '../kinds.ts'
import { operation } from '../operation.ts'
import { aSwitch, textOf } from '../parameters.ts'
import { listTable } from './list-table.ts'
import { standingsOf, type Standings } from './standings.ts'
import type { KeyInUse } from '../../../front/keys/last-use-store.ts'

/** The keys on a page if only the cursor is given. */
const usualPage = 50

/** A page of more keys takes callers' loop for some ms. */
const longPage = 200

export const listKeys = operation({
  name: 'keys list',
  at: ['GET /admin/keys'],
  summary: 'List keys; revoked ones only with --all or --state revoked',
  details:
    'With --limit it lists a page, by name, and says how to get the next one. Otherwise it lists all keys, the oldest ' +
    'first.',
  parameters: {
    search: textOf('TEXT', 'only keys with this in name, account or note, or beginning their id'),
    name: textOf('TEXT', 'only keys with this in their names'),
    plan: textOf('PLAN', 'only keys of this plan'),
    account: textOf('ACCOUNT', 'only keys of this account'),
    state: { kind: keyState, value: 'STATE', help: 'only keys in this state' },
    unused: { kind: age, value: 'DURATION', help: 'only keys that were not used for so long' },
    neverUsed: aSwitch('only keys of which no use is known'),
    oldTokenUsed: {
      kind: age,
      value: 'DURATION',
      help: 'only keys whose old token still works and was used within this time',
    },
    temporary: aSwitch('only keys with a plan or limits that end by themselves'),
    all: aSwitch('revoked keys too'),
    limit: {
      kind: pageSize,
      value: 'N',
      help: 'the most keys of a page, in the order of their names',
    },
    after: { kind: pageCursor, value: 'CURSOR', help: 'the page after another' },
    standing: aSwitch(
      'a page that also tells how each key stands with its limits, and its refusals of today',
    ),
  },
  role: 'read',
  readsMuch: ({ limit, after, standing, temporary, ...filters }) =>
    (limit ?? (after !== undefined || standing ? usualPage : Infinity)) > longPage ||
    !!temporary ||
    isByUse(filters),
  run: async (context, { limit, after, standing, ...filters }): Promise<Listing> => {
    const { stores, desks, clock } = context
    const { unused, neverUsed, oldTokenUsed, temporary = false, ...filter } = filters
    const byUse = { unused, neverUsed, oldTokenUsed }
    const { keys, quotas } = desks()
    const { lastUses: store } = stores()
    const nowMs = clock()
    const sinceMs = isByUse(byUse) ? await store.since() : undefined
    const isUsedSo = wantedByUse(byUse, { nowMs, sinceMs })
    const isWanted = isByUse(byUse) || temporary ? wantedSo : undefined
    function wantedSo(inUse: KeyInUse): boolean {
      const ends = settingsAt(inUse.key, nowMs).changesAtMs !== undefined
      return (ends || !temporary) && (!isByUse(byUse) || isUsedSo(inUse))
    }
    const bans = await quotas.banEnds()
    const isFiltered = Object.values(filters).some((each) => each !== undefined)
    const view = (inUse: KeyInUse): KeyView =>
      keyView(inUse.key, clock(), { bannedUntilMs: bans.get(inUse.key.id), inUse })
    const shared = { bans, isFiltered, byUse, sinceMs, view }
    if (limit !== undefined || after !== undefined || standing === true) {
      const read = (limit: number, after: string | undefined) => keys.page({ filter, limit, after })
      const query = { read, limit: limit ?? usualPage, after, store, isWanted }
      const page = await pageInUse(query)
      const standings = standing === true ? await standingsOf(page.keys, context) : undefined
      return { ...shared, page, standings }
    }
    const some = inUse(wanted(keys.list(), wantedBy(filter, nowMs)), store)
    return { ...shared, list: new Listed(isWanted ? wanted(some, isWanted) : some, byAge, view) }
  },
  json: ({ list, page, standings, view }) => list ?? (page && pageJson(page, view, standings)),
  text: async (listing, context) => {
    const { list, page, standings, bans, isFiltered, byUse, sinceMs } = listing
    const keys = page?.keys ?? (await list?.inOrder()) ?? []
    const notes = knownText(keys, { byUse, sinceMs, nowMs: context.clock() })
    if (keys.length > 0) return listTable(keys, context, bans, standings) + notes + nextText(page)
    if (notes !== '') return `No key matches.${notes}`
    return isFiltered || page
      ? 'No key matches.'
      : 'There are no keys yet. Make one: tollgate keys create --plan PLAN --name NAME'
  },
})

/** All wanted keys, or a page of them. */
type Listing = Readonly<{
  list?: Listed<KeyInUse>
  page?: PageInUse
  /** By the ids of the page's keys. */
  standings?: Standings | undefined
  bans: ReadonlyMap<string, number>
  isFiltered: boolean
  byUse: UseFilter
  /** The time since which uses are known, if it matters. */
  sinceMs: number | undefined
  view: (inUse: KeyInUse) => KeyView
}>

export type KeyPage = ReturnType<typeof pageJson>
export type KeyOnPage = KeyPage['keys'][number]

function pageJson(
  { keys, end }: PageInUse,
  view: Listing['view'],
  standings: Standings | undefined,
) {
  const views = keys.map((each) => ({ ...view(each), ...standings?.get(each.key.id) }))
  return { keys: views, next: end === undefined ? null : cursorAt(end) }
}

function nextText(page: PageInUse | undefined): string {
  if (page?.end === undefined) return ''
  return `\n\nThere are more. The next page: the same command with --after ${cursorAt(page.end)}`
}

async function* wanted<Item>(
  keys: AsyncIterable<Item>,
  isWanted: (key: Item) => boolean,
): AsyncGenerator<Item, void> {
  for await (const key of keys) if (isWanted(key)) yield key
}

/** A sentence about the time since which uses are known, if that may matter to what is listed. */
function knownText(
  keys: readonly KeyInUse[],
  { byUse, sinceMs, nowMs }: Pick<Listing, 'byUse' | 'sinceMs'> & Readonly<{ nowMs: number }>,
): string {
  const { unused = 0, neverUsed = false } = byUse
  if (unused === 0 && !neverUsed) return ''
  if (sinceMs === undefined) return '\n\nNo use of any key is known yet.'
  const isOlder = keys.some(({ key }) => key.createdAtMs < sinceMs)
  if (!isOlder && sinceMs <= nowMs - unused) return ''
  return `\n\nUses are known since ${timeText(sinceMs)}. Of earlier ones nothing is known.`
}

function byAge({ key: a }: KeyInUse, { key: b }: KeyInUse): number {
  return a.createdAtMs - b.createdAtMs || a.id.localeCompare(b.id)
}
