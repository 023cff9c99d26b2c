import { dayMs, type QuotaState } from '../limits/step.ts'

/** What is kept of bans that have ended, so that the next one can follow on. */
const rememberedMs = 2 * dayMs

/** Until when a quota can matter: its day, and the memory of its bans. */
export function keepUntil({ day, conducts }: QuotaState): number {
  let until = (day + 1) * dayMs
  for (const { bannedUntilMs } of conducts?.values() ?? []) {
    if (bannedUntilMs > 0) until = Math.max(until, bannedUntilMs + rememberedMs)
  }
  return until
}
