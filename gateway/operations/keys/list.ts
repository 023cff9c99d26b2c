import type { Key } from '../../keys/key.ts'
import { isWanted, keyView, stateOf, type KeyFilter } from '../../keys/view.ts'
import { effectiveLimits } from '../../limits/limits.ts'
import { dayMs } from '../../limits/step.ts'
import { Listed } from '../listed.ts'
import type { Context } from '../context.ts'
import { operation } from '../operation.ts'
import { aSwitch, textOf } from '../parameters.ts'
import { aligned, endText, timeText } from '../table.ts'

/** The most characters of a key's restrictions in a line of the list. */
const longestOnly = 28

export const listKeys = operation({
  name: 'keys list',
  at: ['GET /admin/keys'],
  summary: 'List keys; revoked ones only with --all',
  parameters: {
    name: textOf('TEXT', 'only keys with this in their names'),
    plan: textOf('PLAN', 'only keys of this plan'),
    account: textOf('ACCOUNT', 'only keys of this account'),
    all: aSwitch('revoked keys too'),
  },
  role: 'read',
  run: async ({ desks, clock }, { all = false, ...filter }) => {
    const { keys, quotas } = desks()
    const bans = await quotas.banEnds()
    const view = (key: Key): object => keyView(key, clock(), { bannedUntilMs: bans.get(key.id) })
    const list = new Listed(wanted(keys.list(), { ...filter, all }), byAge, view)
    const isFiltered = Object.values(filter).some((each) => each !== undefined)
    return { list, bans, isFiltered }
  },
  json: ({ list }) => list,
  text: async ({ list, bans, isFiltered }, context) => {
    const keys = await list.inOrder()
    if (keys.length > 0) return table(keys, columnsOf(context, bans))
    return isFiltered
      ? 'No key matches.'
      : 'There are no keys yet. Make one: tollgate keys create --plan PLAN --name NAME'
  },
})

async function* wanted(keys: AsyncIterable<Key>, filter: KeyFilter): AsyncGenerator<Key, void> {
  for await (const key of keys) if (isWanted(key, filter)) yield key
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
