import { quotaOf, type Key } from '../keys/key.ts'
import { standingView } from '../operations/views.ts'
import type { BanCause } from './ban-cause.ts'
import type { Limits } from './limits.ts'
import type { Decision } from './step.ts'

/** What the stores say of a key just now. */
export type Asked = Readonly<{
  decision: Decision
  limits: Limits
  /** Who has banned it, if a ban runs and the audit still knows. */
  cause: BanCause | null
  /** Whether the configuration has limits for it. */
  isOffered: boolean
}>

export type KeyStanding = ReturnType<typeof keyStanding>

/** Where a key stands, as operators are told of it; callers hear less of it at the quota path. */
export function keyStanding(key: Key, { decision, limits, cause, isOffered }: Asked) {
  const { minute, day, strikes, bannedUntil } = standingView(key.plan, { decision, limits })
  return {
    /** Whose counters they are: `key:` or `account:`, and a name. */
    quota: quotaOf(key),
    offered: isOffered,
    minute: minute && { ...minute, used: decision.minuteUsed },
    day: day && { ...day, used: decision.dayUsed },
    strikes,
    bannedUntil,
    ban: cause,
  }
}
