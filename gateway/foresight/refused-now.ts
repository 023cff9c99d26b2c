import { breathe } from '../../shared/breathe.ts'
import type { QuotaStore } from '../limits/store.ts'
import type { PlannedQuota } from './planned-quotas.ts'

/** Quotas that are asked about in one turn of the loop. */
const atOnce = 100

/** The quotas whose next request of one point would be refused by the limits then, by their counters of now. */
export async function refusedNow(
  store: QuotaStore,
  quotas: readonly PlannedQuota[],
): Promise<ReadonlySet<string>> {
  const refused = new Set<string>()
  for (let start = 0; start < quotas.length; start += atOnce) {
    const some = quotas.slice(start, start + atOnce)
    await Promise.all(
      some.map(async ({ quota, key, then, isShutOut }) => {
        if (isShutOut) return refused.add(quota)
        const { minuteUsed, dayUsed } = await store.decide(quota, { key, cost: 0, limits: then })
        if (minuteUsed >= then.perMinute || dayUsed >= then.perDay) refused.add(quota)
        return refused
      }),
    )
    await breathe()
  }
  return refused
}
