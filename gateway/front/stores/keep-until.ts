import { isOfCallers, pastDays } from '../limits/past-points.ts'
import { dayMs, type QuotaState } from '../limits/step.ts'

/** How long an ended ban is kept, so that the next one can continue the row. */
const rememberedMs = 2 * dayMs

/**
 * The time after which a quota no longer matters: the end of its day, of its grants and of the memory of its bans. A
 * caller's quota waits `pastDays` longer for the ledger.
 */
export function keepUntil(quota: string, { day, conducts, grants }: QuotaState): number {
  const lastDay = Math.max(day + (isOfCallers(quota) ? pastDays : 0), grants?.day ?? 0)
  let until = (lastDay + 1) * dayMs
  for (const { bannedUntilMs } of conducts?.values() ?? []) {
    if (bannedUntilMs > 0) until = Math.max(until, bannedUntilMs + rememberedMs)
  }
  return until
}
