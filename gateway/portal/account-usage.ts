import type { KeyStore } from '../keys/store.ts'
import type { TallyStore } from '../records/tally-store.ts'
import { usage, type Usage } from '../records/usage.ts'
import { uses } from '../records/use.ts'

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
  const sums = new Map<string, DayUsage>()
  for (const { id } of keys) {
    for (const each of await usage(stores, { ...range, key: id, whats: uses })) {
      const { day = '' } = each
      const before = sums.get(day)
      sums.set(day, before ? sumOf(before, dayOf(each)) : dayOf(each))
    }
  }
  const days = [...sums].sort(([one], [other]) => (one < other ? -1 : 1))
  return { name: account, keys: keys.length, days: days.map(([, each]) => each) }
}

function sumOf(one: DayUsage, other: DayUsage): DayUsage {
  return {
    ...one,
    admitted: one.admitted + other.admitted,
    points: one.points + other.points,
    refused: added(one.refused, other.refused),
    windows: {
      minute: one.windows.minute + other.windows.minute,
      day: one.windows.day + other.windows.day,
    },
    answers: added(one.answers, other.answers),
  }
}

function added(
  one: Readonly<Record<string, number>>,
  other: Readonly<Record<string, number>>,
): Record<string, number> {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries([...names].map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]))
}
