import type { KeyStore } from '../keys/store.ts'
import type { TallyStore } from '../records/tally-store.ts'
import { usage, type Usage } from '../records/usage.ts'
import { uses } from '../records/use.ts'
import { ownTallies } from './own-tallies.ts'

/** The most keys of an account that are summed up. */
const mostKeys = 100

/** The usage of one day, of a key or of an account. */
export type DayUsage = Omit<Usage, 'key' | 'name'>

export function dayOf({ day, admitted, points, refused, windows, answers }: Usage): DayUsage {
  return { ...(day === undefined ? {} : { day }), admitted, points, refused, windows, answers }
}

/** The usage of an account: the sum of its keys by day, or `null` in place of the days if it has too many keys. */
export type AccountUsage = Readonly<{
  name: string
  keys: number | null
  days: readonly DayUsage[] | null
}>

/** The sum of an account's keys by day, revoked ones included; `null` for a key without an account. */
export async function accountUsage(
  stores: Readonly<{ keys: KeyStore; tallies: TallyStore }>,
  account: string | undefined,
  range: Readonly<{ fromDay: number; toDay: number }>,
  nowMs: number,
): Promise<AccountUsage | null> {
  if (account === undefined) return null
  const filter = { account, all: true }
  const { keys } = await stores.keys.page({ filter, limit: mostKeys + 1, nowMs })
  if (keys.length > mostKeys) return { name: account, keys: null, days: null }
  const ids = keys.map(({ id }) => id)
  const tallies = ownTallies(stores.tallies, ids, uses)
  const days = await usage({ keys: stores.keys, tallies }, { ...range, key: account })
  return { name: account, keys: keys.length, days: days.map(dayOf) }
}
