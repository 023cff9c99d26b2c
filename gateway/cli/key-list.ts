import type { Key } from '../keys/key.ts'
import { isWanted, keyView, stateOf } from '../keys/view.ts'
import { effectiveLimits } from '../limits/limits.ts'
import { dayMs } from '../limits/step.ts'
import { text, type Context, type Input, type Output } from './command.ts'
import { aligned, endText, timeText } from './table.ts'

/** How much of a key's restrictions a line of the list has room for. */
const longestOnly = 28

/** The keys that are asked for, a line each. */
export async function listKeys(context: Context, input: Input): Promise<Output> {
  const wanted = {
    name: text(input, 'name'),
    plan: text(input, 'plan'),
    account: text(input, 'account'),
    all: input.values['all'] === true,
  }
  const now = context.clock()
  const { keys, quotas } = context.desks()
  const bans = await quotas.banEnds()
  const found: Key[] = []
  for await (const key of keys.list()) if (isWanted(key, wanted)) found.push(key)
  found.sort((a, b) => a.createdAtMs - b.createdAtMs || a.id.localeCompare(b.id))
  const isFiltered = Object.values(wanted).some((each) => typeof each === 'string')
  const none = isFiltered
    ? 'There is no such key.'
    : 'There are no keys yet. Make one: tollgate keys create --plan PLAN --name NAME'
  return {
    text: found.length > 0 ? table(found, columnsOf(context, bans)) : none,
    json: found.map((key) => keyView(key, now, bans.get(key.id))),
  }
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

/** What no key of the list has gets no column, so that most lists fit a terminal. */
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
  // Within a day the time says it all, and leaves room for the rest.
  const [day = '', time = ''] = endText(bannedUntilMs).split(' ')
  return `banned until ${bannedUntilMs - clock() < dayMs ? time : day}`
}

/** The limits that a key has of its own. */
function limitsText({ limits }: Key): string {
  const { perMinute, perDay } = limits ?? {}
  return [
    ...(perMinute === undefined ? [] : [`${perMinute}/min`]),
    ...(perDay === undefined ? [] : [`${perDay}/day`]),
  ].join(' ')
}

/** What a key is restricted to. */
function onlyText({ methods = [], paths = [], addresses = [] }: Key): string {
  const all = [...methods, ...paths, ...addresses].join(' ')
  return all.length > longestOnly ? `${all.slice(0, longestOnly - 1)}…` : all
}

function dayText(ms: number | undefined): string {
  return timeText(ms).slice(0, 10)
}
