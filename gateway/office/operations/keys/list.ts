import { timeText } from '../../../../shared/times.ts'
import { noPlan } from '../../../front/keys/settings.ts'
import { isByUse } from '../../../front/keys/in-use.ts'
import type { KeyView } from '../../../front/keys/view.ts'
import { limitSettings, limitText } from '../../../front/limits/limit-settings.ts'
import type { KeyInUse } from '../../../front/keys/last-use-store.ts'
import { age, keyState, oneOf, pageCursor, pageSize } from '../kinds.ts'
import type { CommandContext } from '../context.ts'
import { csvPieces } from '../csv-pieces.ts'
import { operation } from '../operation.ts'
import { aSwitch, textOf, valueOf } from '../parameters.ts'
import { listTable } from './list-table.ts'
import { listingOf, usualPage, type Listing } from './listing.ts'
import type { PageOfKeys } from './order.ts'
import { keyOrders } from './place.ts'
import type { Standings } from './listing.ts'

/** A page of more keys takes callers' loop for some ms. */
const longPage = 200

export const listKeys = operation({
  name: 'keys list',
  at: ['GET /admin/keys'],
  summary: 'List keys; revoked ones only with --all or --state revoked',
  details:
    'With --limit it lists a page, by name, and says how to get the next one. --sort lists a page of those with the most ' +
    'admitted requests today (use), with the most refused ones (refusals), or with the latest use (recent). Otherwise it ' +
    'lists all keys, the oldest first.',
  parameters: {
    search: textOf(
      'TEXT',
      'only keys with this in name, account, note, reference, or at the beginning of their id',
    ),
    name: textOf('TEXT', 'only keys with this in their names'),
    plan: textOf('PLAN', 'only keys of this plan'),
    account: textOf('ACCOUNT', 'only keys of this account'),
    reference: textOf('ID', 'only keys with this reference'),
    state: valueOf(keyState, 'STATE', 'only keys in this state'),
    unused: valueOf(age, 'DURATION', 'only keys that were not used for so long'),
    neverUsed: aSwitch('only keys of which no use is known'),
    oldTokenUsed: valueOf(
      age,
      'DURATION',
      'only keys whose old token still works and was used within this time',
    ),
    all: aSwitch('revoked keys too'),
    limit: valueOf(pageSize, 'N', 'the most keys on a page'),
    after: valueOf(pageCursor, 'CURSOR', 'the page after another'),
    sort: valueOf(oneOf(keyOrders), 'ORDER', 'the order of a page'),
    standing: aSwitch(
      'a page that also tells how each key stands with its limits, and its requests of today',
    ),
  },
  role: 'read',
  takesLong: ({ limit, after, standing, sort, ...filters }) =>
    sort !== undefined ||
    (limit ?? (after !== undefined || standing ? usualPage : Infinity)) > longPage ||
    isByUse(filters),
  run: listingOf,
  json: ({ list, page, standings, view }) => list ?? (page && pageJson(page, view, standings)),
  csv: listCsv,
  text: listText,
})

export type KeyPage = ReturnType<typeof pageJson>
export type KeyOnPage = KeyPage['keys'][number]

function pageJson(
  { keys, next }: PageOfKeys,
  view: Listing['view'],
  standings: Standings | undefined,
) {
  const views = keys.map((each) => ({ ...view(each), ...standings?.get(each.key.id) }))
  return { keys: views, next: next ?? null }
}

function nextText(page: PageOfKeys | undefined): string {
  if (page?.next === undefined) return ''
  return `\n\nThere are more. For the next page, repeat the command with --after ${page.next}`
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
  return `\n\nUse is recorded since ${timeText(sinceMs)}; nothing is known of earlier use.`
}

/** Keys in a table, with what is known of their use. */
export async function listText(listing: Listing, context: CommandContext): Promise<string> {
  const { list, page, standings, bans, isFiltered, plan, byUse, sinceMs } = listing
  const keys = page?.keys ?? (await list?.inOrder()) ?? []
  const notes = knownText(keys, { byUse, sinceMs, nowMs: context.clock() })
  if (keys.length > 0) return listTable(keys, context, bans, standings) + notes + nextText(page)
  const { plans } = context.config
  if (plan !== undefined && !plans.has(plan)) return `No key matches: ${noPlan(plan, plans)}.`
  if (notes !== '') return `No key matches.${notes}`
  return isFiltered || page
    ? 'No key matches.'
    : 'There are no keys yet. Create one: tollgate keys create --plan PLAN --name NAME'
}

const texts = ['id', 'name', 'plan', 'account', 'state'] as const
const times = ['bannedUntil', 'lastUsedAt', 'expiresAt', 'createdAt'] as const

/** Keys as CSV: their settings, their requests of today and their last uses. */
async function* listCsv({ each, view, today }: Listing): AsyncGenerator<string, void> {
  const counts = await today()
  const names = [
    ...texts,
    'admittedToday',
    'refusedToday',
    ...times,
    ...limitSettings,
    'note',
    'reference',
    'scopes',
    'origins',
  ]
  yield* csvPieces(names, each, (inUse) => {
    const key: Partial<KeyView> = view(inUse)
    const { admitted = 0, refused = 0 } = counts.get(inUse.key.id) ?? {}
    const own = limitSettings.map((name) => {
      const setting = key.limits?.[name]
      return setting === undefined ? '' : limitText(setting)
    })
    const [said, at] = [texts, times].map((all) => all.map((name) => key[name] ?? ''))
    return [
      ...(said ?? []),
      admitted,
      refused,
      ...(at ?? []),
      ...own,
      key.note ?? '',
      key.reference ?? '',
      key.scopes?.join(' ') ?? '',
      key.origins?.join(' ') ?? '',
    ]
  })
}
