import { quotaOf, type Key } from '../../front/keys/key.ts'
import { standingView } from '../../front/limits/views.ts'
import type { BanCause } from './ban-cause.ts'
import { dayMs } from '../../front/limits/step.ts'
import type { Grant } from '../../front/limits/grants.ts'
import type { Limits } from '../../front/limits/limits.ts'
import type { Decision } from '../../front/limits/step.ts'

/** The answers of the stores about one key. */
export type StandingFacts = Readonly<{
  decision: Decision
  limits: Limits
  /** The latest grants to its quota. */
  grants: readonly Grant[]
  /** The cause of the running ban, if one runs and the audit still has it. */
  cause: BanCause | null
  /** Whether the configuration has limits for it. */
  isOffered: boolean
}>

export type KeyStanding = ReturnType<typeof keyStanding>

/** The state of a key's limits for operators. Callers see less of it at the quota path. */
export function keyStanding(key: Key, facts: StandingFacts) {
  const { decision, limits, grants, cause, isOffered } = facts
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
    grants: grants.flatMap((grant) => grantView(grant, decision)),
  }
}

/** A grant, if it is of a window that still runs; points of a window that has ended are `null`. */
function grantView(grant: Grant, { seen }: Decision) {
  const perDay = grant.day === seen.day ? grant.perDay || null : null
  const perMinute = grant.minute === seen.minute ? grant.perMinute || null : null
  if (perDay === null && perMinute === null) return []
  const day = new Date(grant.day * dayMs).toISOString().slice(0, 10)
  return [{ day, perDay, perMinute, by: grant.by, note: grant.note ?? null }]
}
