import type { Caller } from '../keys/caller.ts'
import type { KeyStore } from '../keys/store.ts'
import type { TallyStore } from '../counts/tally-store.ts'
import { usage, type Usage } from '../counts/usage.ts'

/** The most keys of an account that are summed up. */
const mostKeys = 100

/** The most pages of keys that are read: test keys take places in them. */
const mostPages = 5

/** The usage of one day, of a key or of an account. */
export type DayUsage = Omit<Usage, 'key' | 'name'>

export function dayOf({ day, admitted, points, estimated, beyond, ...others }: Usage): DayUsage {
  const { refused, windows, answers } = others
  return {
    ...(day !== undefined && { day }),
    ...{ admitted, points },
    ...(estimated !== undefined && { estimated }),
    ...(beyond !== undefined && { beyond }),
    ...{ refused, windows, answers },
  }
}

/** The usage of an account: the sum of its keys by day, or `null` in place of the days if it has too many keys. */
export type AccountUsage = Readonly<{
  name: string
  keys: number | null
  days: readonly DayUsage[] | null
}>

/**
 * The sum of the keys that share an account's quota by day, revoked ones included; `null` for a key that shares none, as
 * test keys do not.
 */
export async function accountUsage(
  stores: Readonly<{ keys: KeyStore; tallies: TallyStore }>,
  { account, isTest }: Pick<Caller, 'account' | 'isTest'>,
  range: Readonly<{ fromDay: number; toDay: number }>,
  nowMs: number,
): Promise<AccountUsage | null> {
  if (account === undefined || isTest) return null
  const ids = await sharingKeys(stores.keys, account, nowMs)
  if (!ids) return { name: account, keys: null, days: null }
  const days = await usage(stores, { ...range, keys: ids })
  return { name: account, keys: ids.length, days: days.map(dayOf) }
}

/** The ids of the keys that share an account's quota; `undefined` if there are too many. */
async function sharingKeys(
  store: KeyStore,
  account: string,
  nowMs: number,
): Promise<readonly string[] | undefined> {
  const filter = { account, all: true }
  const ids: string[] = []
  let after: string | undefined
  for (let page = 0; page < mostPages; page++) {
    const { keys, end } = await store.page({ filter, limit: mostKeys + 1, after, nowMs })
    ids.push(...keys.filter(({ test }) => !test).map(({ id }) => id))
    if (ids.length > mostKeys) return undefined
    if (end === undefined) return ids
    after = end
  }
  return undefined
}
