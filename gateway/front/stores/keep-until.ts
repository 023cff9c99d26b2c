import { pastDays } from '../limits/past-points.ts'
import { numberOf } from '../limits/counters.ts'
import type { QuotaState } from '../limits/quota-state.ts'
import { dayMs, dayWindow, endsAtMs, foreverMs, steadyWindows } from '../../../shared/windows.ts'

/** How long an ended ban is kept, so that the next one can continue the row. */
const rememberedMs = 2 * dayMs

/**
 * The time after which a quota no longer matters: the end of its windows and of the memory of its bans. It waits `pastDays`
 * longer than its day for the ledger. Only the counters have the day on which months begin, so that another than the first
 * keeps them; so does what was bought in advance.
 */
export function keepUntil(state: QuotaState): number {
  let until = endsAtMs(dayWindow, numberOf(state, dayWindow))
  if (state.monthFrom !== 1 || state.purse) return until + foreverMs
  until += pastDays * dayMs
  for (const window of steadyWindows) {
    until = Math.max(until, endsAtMs(window, numberOf(state, window)))
  }
  for (const { bannedUntilMs } of state.conducts?.values() ?? []) {
    if (bannedUntilMs > 0) until = Math.max(until, bannedUntilMs + rememberedMs)
  }
  return until
}
