import { withCommas } from '../../../../shared/commas.ts'
import { windows } from '../../../../shared/windows.ts'
import { endText, timeText } from '../../../../shared/times.ts'
import { ownLimits, type Key } from '../../../front/keys/key.ts'
import { lastUse, type KeyInUse } from '../../../front/keys/last-use-store.ts'
import { stateOf } from '../../../front/keys/view.ts'
import { effectiveLimits } from '../../../front/limits/plan.ts'
import type { Context } from '../context.ts'
import { aligned } from '../table.ts'
import { ownLimitsText } from './limit-texts.ts'
import { windowText, type Standings } from './listing.ts'

/** The most characters of a key's restrictions in a line of the list. */
const longestOnly = 28

/** A table without columns that no key of the list uses, so that most lists fit a terminal. */
export function listTable(
  keys: readonly KeyInUse[],
  context: Context,
  bans: ReadonlyMap<string, number>,
  standings: Standings | undefined,
): string {
  const shown = columnsOf(context, bans, standings).filter(
    ([, cell, isAlways = false]) =>
      isAlways || keys.some(({ key, uses }) => cell(key, uses) !== ''),
  )
  return aligned([
    shown.map(([name]) => name),
    ...keys.map(({ key, uses }) => shown.map(([, cell]) => cell(key, uses))),
  ])
}

type Column = readonly [
  name: string,
  cell: (key: Key, uses: KeyInUse['uses']) => string,
  isAlways?: boolean,
]

function columnsOf(
  context: Context,
  bans: ReadonlyMap<string, number>,
  standings: Standings | undefined,
): readonly Column[] {
  const standing = ({ id }: Key) => standings?.get(id)
  return [
    ['ID', ({ id }) => id, true],
    ['NAME', ({ name }) => name, true],
    ['PLAN', ({ plan }) => plan, true],
    ['ACCOUNT', ({ account = '' }) => account],
    ['REFERENCE', ({ reference = '' }) => reference],
    ['TEST', ({ test }) => (test ? 'yes' : '')],
    ['STATE', (key) => stateText(key, bans.get(key.id), context), true],
    ['LIMITS', (key) => ownLimitsText(ownLimits(key))],
    ...windows.map(({ name }): Column => {
      return [name.toUpperCase(), (key) => windowText(standing(key)?.standing[name])]
    }),
    ['ADMITTED TODAY', (key) => countText(standing(key)?.admittedToday)],
    ['REFUSED TODAY', (key) => countText(standing(key)?.refusedToday)],
    ['ONLY', onlyText],
    ['EXPIRES', ({ expiresAtMs }) => dayText(expiresAtMs)],
    ['LAST USED', (_key, uses) => timeText(lastUse(uses))],
    ['CREATED', ({ createdAtMs }) => dayText(createdAtMs), true],
  ]
}

function stateText(
  key: Key,
  bannedUntilMs: number | undefined,
  { config, clock }: Context,
): string {
  const state = stateOf(key, clock())
  if (state !== 'active') return state
  const plan = config.plans.get(key.plan)
  if (!plan || !effectiveLimits(plan, ownLimits(key))) return 'refused: no limits'
  if (bannedUntilMs === undefined) return state
  return `banned until ${endText(bannedUntilMs, clock())}`
}

/** The methods, paths, addresses, scopes and origins that a key is restricted to. */
function onlyText({ methods, paths, addresses, scopes, origins }: Key): string {
  const all = [methods, paths, addresses, scopes, origins].flatMap((each) => each ?? []).join(' ')
  return all.length > longestOnly ? `${all.slice(0, longestOnly - 1)}…` : all
}

function countText(count = 0): string {
  return count === 0 ? '' : withCommas(count)
}

function dayText(ms: number | undefined): string {
  return timeText(ms).slice(0, 10)
}
