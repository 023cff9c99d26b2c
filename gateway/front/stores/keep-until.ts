import { isOfCallers, pastDays } from '../limits/past-points.ts'
import { numberOf } from '../limits/counters.ts'
import type { QuotaState } from '../limits/step.ts'
import { dayMs, dayWindow, endsAtMs, steadyWindows } from '../../../shared/windows.ts'

/** How long an ended ban is kept, so that the next one can continue the row. */
const rememberedMs = 2 * dayMs

/** How long a quota whose months begin on another day is kept unused, in days: nothing else knows that day. */
const agreedDays = 3_650

/**
 * The time after which a quota no longer matters: the end of its windows and of the memory of its bans. A caller's quota
 * waits `pastDays` longer than its day for the ledger, and `agreedDays` if its months begin on another day; one that an app counts lasts for its day.
 */
export function keepUntil(quota: string, state: QuotaState): number {
  let until = endsAtMs(dayWindow, numberOf(state, dayWindow))
  if (isOfCallers(quota)) {
    until += (state.monthFrom === 1 ? pastDays : agreedDays) * dayMs
    for (const window of steadyWindows) {
      until = Math.max(until, endsAtMs(window, numberOf(state, window)))
    }
  }
  for (const { bannedUntilMs } of state.conducts?.values() ?? []) {
    if (bannedUntilMs > 0) until = Math.max(until, bannedUntilMs + rememberedMs)
  }
  return until
}
