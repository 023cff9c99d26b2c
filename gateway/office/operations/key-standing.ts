import { quotaOf, type Key } from '../../front/keys/key.ts'
import { numberOf } from '../../front/limits/counters.ts'
import {
  partViews,
  standingView,
  type WindowView,
  type WindowViews,
} from '../../front/limits/views.ts'
import { numberAt, windows, type OptionalName, type RequiredName } from '../../../shared/windows.ts'
import type { Grant } from '../../front/limits/grants.ts'
import type { Limits, LimitsView } from '../../front/limits/limits.ts'
import { usedBy, type Decision } from '../../front/limits/step.ts'
import { membersOf } from '../../front/records/changed-members.ts'
import type { AuditStore } from '../../front/records/audit-store.ts'

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
  const { strikes, bannedUntil, ...views } = standingView(key.plan, { decision, limits })
  return {
    /** `key:` or `account:`, and a name. */
    quota: quotaOf(key),
    offered: isOffered,
    ...usedViews(views, decision),
    ...(views.atOnce && { atOnce: views.atOnce }),
    ...(decision.seen.monthFrom !== 1 && { monthFrom: decision.seen.monthFrom }),
    ...partViews({ decision, limits }),
    strikes,
    bannedUntil,
    ban: cause,
    grants: grants.flatMap((grant) => grantView(grant, decision)),
  }
}

/** A window of a key's quota, for operators. */
export type UsedWindow = WindowView & Readonly<{ used: number }>

type UsedViews = Readonly<
  Record<RequiredName, UsedWindow | null> & { [Name in OptionalName]?: UsedWindow | null }
>

function usedViews(views: WindowViews, decision: Decision): UsedViews {
  const shown = windows.flatMap((window) => {
    const view = views[window.name]
    if (view === undefined) return []
    return [[window.name, view && { ...view, used: usedBy(decision, window) }]]
  })
  return Object.fromEntries(shown) as UsedViews
}

/** A grant, if it is of a window that still runs; points of a window that has ended are `null`. */
function grantView(grant: Grant, { seen }: Decision) {
  const running = windows.filter((window) => {
    const number = numberAt(window, grant.atMs, seen.monthFrom)
    return grant[window.limit] !== undefined && number === numberOf(seen, window)
  })
  if (running.length === 0) return []
  const day = new Date(grant.atMs).toISOString().slice(0, 10)
  const shown = windows.filter((window) => window.isRequired || running.includes(window))
  const points = Object.fromEntries(
    shown.map((window) => [window.limit, running.includes(window) ? grant[window.limit] : null]),
  ) as LimitsView
  return [{ day, ...points, by: grant.by, note: grant.note ?? null }]
}

/** The number of audit lines about bans of a key that are searched for its latest ban. */
const mostLines = 100

/** The author and the time of a ban, and its note if it has one; the number of strikes if the key earned it. */
export type BanCause = Readonly<{ by: string; since: string; strikes?: number; note?: string }>

/** The cause of a key's latest ban by the audit; `null` if the audit doesn't reach back that far. */
export async function causeOf(
  audit: Pick<AuditStore, 'list'>,
  id: string,
): Promise<BanCause | null> {
  const query = { fromMs: 0, limit: mostLines, subject: id, what: 'bans.' }
  const lines = await audit.list(query)
  const line = lines.find(({ what }) => what === 'bans.earn' || what === 'bans.set')
  if (!line) return null
  const { by, atMs } = line
  const { strikes, note } = membersOf(line.after)
  return {
    by,
    since: new Date(atMs).toISOString(),
    ...(typeof strikes === 'number' ? { strikes } : {}),
    ...(typeof note === 'string' ? { note } : {}),
  }
}
