import { fits } from '../../front/limits/counters.ts'
import type { QuotaStore } from '../../front/limits/store.ts'
import type { PlannedQuota } from './planned-quotas.ts'

/** Quotas that are asked about at a time. */
const batchSize = 100

/** The quotas whose next request of one point would be refused by the limits then, by their counters of now. */
export async function refusedNow(
  store: QuotaStore,
  quotas: readonly PlannedQuota[],
): Promise<ReadonlySet<string>> {
  const refused = new Set<string>()
  const ask = (some: readonly PlannedQuota[]): Promise<unknown> => {
    const asked = Promise.all(some.map(decide))
    // If the batch before it fails, nobody takes its error.
    asked.catch(() => undefined)
    return asked
  }
  const decide = async ({ quota, key, then, isShutOut }: PlannedQuota): Promise<void> => {
    if (isShutOut) return void refused.add(quota)
    const { seen } = await store.decide(quota, { key, cost: 0, limits: then })
    if (!fits(seen, 1, then)) refused.add(quota)
  }
  // The store answers for the next ones while these are read.
  let before: Promise<unknown> = Promise.resolve()
  for (let start = 0; start < quotas.length; start += batchSize) {
    const asked = ask(quotas.slice(start, start + batchSize))
    await before
    before = asked
  }
  await before
  return refused
}
