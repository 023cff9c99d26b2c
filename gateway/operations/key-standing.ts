import { quotaOf, type Key } from '../keys/key.ts'
import { standingView } from '../limits/views.ts'
import type { BanCause } from './ban-cause.ts'
import type { Limits } from '../limits/limits.ts'
import type { Decision } from '../limits/step.ts'

/** The answers of the stores about one key. */
export type StandingFacts = Readonly<{
  decision: Decision
  limits: Limits
  /** The cause of the running ban, if one runs and the audit still has it. */
  cause: BanCause | null
  /** Whether the configuration has limits for it. */
  isOffered: boolean
}>

export type KeyStanding = ReturnType<typeof keyStanding>

/** The state of a key's limits for operators. Callers see less of it at the quota path. */
export function keyStanding(key: Key, { decision, limits, cause, isOffered }: StandingFacts) {
  const { minute, day, strikes, bannedUntil } = standingView(key.plan, { decision, limits })
  return {
    /** `key:` or `account:`, and a name. */
    quota: quotaOf(key),
    offered: isOffered,
    minute: minute && { ...minute, used: decision.minuteUsed },
    day: day && { ...day, used: decision.dayUsed },
    strikes,
    bannedUntil,
    ban: cause,
  }
}
