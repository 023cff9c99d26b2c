import type { DeprecatedCalls } from '../records/deprecated-calls.ts'
import type { Standing } from '../limits/headers.ts'
import { windows } from '../limits/headers.ts'
import type { AuditEntry } from '../records/audit-store.ts'
import type { Ban } from '../limits/store.ts'

/** What programs are told: the same by the command line with --json and by the admin API. */

export function banView({ key, name, untilMs }: Pick<Ban, 'key' | 'untilMs'> & { name?: string }) {
  return { id: key, name, until: iso(untilMs) }
}

/** How a caller stands: what it is told itself at the quota path, and an operator by its key. */
export function standingView(plan: string, standing: Standing) {
  const { strikes, bannedUntilMs } = standing.decision
  const { minute, day } = windows(standing.decision, standing.limits)
  return {
    plan,
    minute: windowView(minute),
    day: windowView(day),
    strikes,
    bannedUntil: bannedUntilMs > 0 ? Math.ceil(bannedUntilMs / 1000) : null,
  }
}

function windowView(window: ReturnType<typeof windows>['minute']) {
  if (!window) return null
  const { limit, remaining, resetMs } = window
  return { limit, remaining, reset: Math.ceil(resetMs / 1000) }
}

export function callsView({ lastMs, ...calls }: DeprecatedCalls) {
  return { ...calls, last: iso(lastMs) }
}

export function auditView({ atMs, ...entry }: AuditEntry) {
  return { at: iso(atMs), ...entry }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
