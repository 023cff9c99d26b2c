import { dayMs, type QuotaState } from '../limits/step.ts'

/** How long an ended ban is kept, so that the next one can continue the row. */
const rememberedMs = 2 * dayMs

/** The time after which a quota no longer matters: the end of its day, of its grants and of the memory of its bans. */
export function keepUntil({ day, conducts, grants }: QuotaState): number {
  let until = (Math.max(day, grants?.day ?? 0) + 1) * dayMs
  for (const { bannedUntilMs } of conducts?.values() ?? []) {
    if (bannedUntilMs > 0) until = Math.max(until, bannedUntilMs + rememberedMs)
  }
  return until
}
