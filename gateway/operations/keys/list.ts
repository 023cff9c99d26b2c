import type { Key } from '../../keys/key.ts'
import { wantedBy } from '../../keys/filter.ts'
import { cursorAt } from '../../keys/line.ts'
import type { KeyPage } from '../../keys/store.ts'
import { keyView, stateOf } from '../../keys/view.ts'
import { effectiveLimits } from '../../limits/limits.ts'
import { dayMs } from '../../limits/step.ts'
import { Listed } from '../listed.ts'
import type { Context } from '../context.ts'
import { keyState, pageCursor, pageSize } from '../kinds.ts'
import { operation } from '../operation.ts'
import { aSwitch, textOf } from '../parameters.ts'
import { aligned, endText, timeText } from '../table.ts'

/** The most characters of a key's restrictions in a line of the list. */
const longestOnly = 28

/** The keys on a page if only the cursor is given. */
const usualPage = 50

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
    all: aSwitch('revoked keys too'),
    limit: { kind: pageSize, value: 'N', help: 'a page of at most so many keys, by name' },
    after: { kind: pageCursor, value: 'CURSOR', help: 'the page after another' },
  },
  role: 'read',
  run: async ({ desks, clock }, { limit, after, ...filter }): Promise<Listing> => {
    const { keys, quotas } = desks()
    const bans = await quotas.banEnds()
    const isFiltered = Object.values(filter).some((each) => each !== undefined)
    const view = (key: Key): object => keyView(key, clock(), bans.get(key.id))
    const shared = { bans, isFiltered, view }
    if (limit !== undefined || after !== undefined) {
      return { ...shared, page: await keys.page({ filter, limit: limit ?? usualPage, after }) }
    }
    return {
      ...shared,
      list: new Listed(wanted(keys.list(), wantedBy(filter, clock())), byAge, view),
    }
  },
  json: ({ list, page, view }) => list ?? (page && pageJson(page, view)),
  text: async ({ list, page, bans, isFiltered }, context) => {
    const keys = page?.keys ?? (await list?.inOrder()) ?? []
    if (keys.length > 0) return table(keys, columnsOf(context, bans)) + nextText(page)
    return isFiltered || page
      ? 'No key matches.'
      : 'There are no keys yet. Make one: tollgate keys create --plan PLAN --name NAME'
  },
})

/** All wanted keys, or a page of them. */
type Listing = Readonly<{
  list?: Listed<Key>
  page?: KeyPage
  bans: ReadonlyMap<string, number>
  isFiltered: boolean
  view: (key: Key) => object
}>

function pageJson({ keys, end }: KeyPage, view: Listing['view']): object {
  return { keys: keys.map(view), next: end === undefined ? null : cursorAt(end) }
}

function nextText(page: KeyPage | undefined): string {
  if (page?.end === undefined) return ''
  return `\n\nThere are more. The next page: the same command with --after ${cursorAt(page.end)}`
}

async function* wanted(
  keys: AsyncIterable<Key>,
  isWanted: (key: Key) => boolean,
): AsyncGenerator<Key, void> {
  for await (const key of keys) if (isWanted(key)) yield key
}

function byAge(a: Key, b: Key): number {
  return a.createdAtMs - b.createdAtMs || a.id.localeCompare(b.id)
}

type Column = readonly [name: string, cell: (key: Key) => string, isAlways?: boolean]

function columnsOf(context: Context, bans: ReadonlyMap<string, number>): readonly Column[] {
  return [
    ['ID', ({ id }) => id, true],
    ['NAME', ({ name }) => name, true],
    ['PLAN', ({ plan }) => plan, true],
    ['ACCOUNT', ({ account = '' }) => account],
    ['STATE', (key) => stateText(key, bans.get(key.id), context), true],
    ['LIMITS', limitsText],
    ['ONLY', onlyText],
    ['EXPIRES', ({ expiresAtMs }) => dayText(expiresAtMs)],
    ['CREATED', ({ createdAtMs }) => dayText(createdAtMs), true],
  ]
}

/** A table without columns that no key of the list uses, so that most lists fit a terminal. */
function table(keys: readonly Key[], columns: readonly Column[]): string {
  const shown = columns.filter(
    ([, cell, isAlways = false]) => isAlways || keys.some((key) => cell(key) !== ''),
  )
  return aligned([
    shown.map(([name]) => name),
    ...keys.map((key) => shown.map(([, cell]) => cell(key))),
  ])
}

function stateText(
  key: Key,
  bannedUntilMs: number | undefined,
  { config, clock }: Context,
): string {
  const state = stateOf(key, clock())
  if (state !== 'active') return state
  const plan = config.plans.get(key.plan)
  if (!plan || !effectiveLimits(plan, key.limits)) return 'refused: no limits'
  if (bannedUntilMs === undefined) return state
  // Within a day the time is enough, and leaves room for other columns.
  const [day = '', time = ''] = endText(bannedUntilMs).split(' ')
  return `banned until ${bannedUntilMs - clock() < dayMs ? time : day}`
}

/** A key's own limits. */
function limitsText({ limits }: Key): string {
  const { perMinute, perDay } = limits ?? {}
  return [
    ...(perMinute === undefined ? [] : [`${perMinute}/min`]),
    ...(perDay === undefined ? [] : [`${perDay}/day`]),
  ].join(' ')
}

/** The methods, paths and addresses that a key is restricted to. */
function onlyText({ methods = [], paths = [], addresses = [] }: Key): string {
  const all = [...methods, ...paths, ...addresses].join(' ')
  return all.length > longestOnly ? `${all.slice(0, longestOnly - 1)}…` : all
}

function dayText(ms: number | undefined): string {
  return timeText(ms).slice(0, 10)
}
