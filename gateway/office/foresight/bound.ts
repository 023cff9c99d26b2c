import { dayMs, windows } from '../../../shared/windows.ts'
import { limitOf, noLimits, type Limits } from '../../front/limits/limits.ts'
import type { Plan } from '../../front/limits/plan.ts'
import type { AuditStore } from '../../front/records/audit-store.ts'

/**
 * Whether a preview names exactly the quotas and days that would have been refused, or at least those: peaks tell all
 * about limits below those that were in force, but callers that were refused might have sent more.
 */
export type Bound = 'exact' | 'lower'

/** The most changes of the configuration that are looked at. */
const mostChanges = 1_000

type BoundAsk = Readonly<{ now: Plan; then: Plan | undefined; fromDay: number }>

/** Compares the limits then with all that were in force in these days, as the audit tells of changes. */
export async function boundOf(audit: AuditStore, { now, then, fromDay }: BoundAsk): Promise<Bound> {
  if (then === undefined) return 'exact'
  const [before, after] = [numbers(now), numbers(then)]
  if (windows.some((window) => limitOf(after, window) > limitOf(before, window))) return 'lower'
  const query = { fromMs: fromDay * dayMs, what: 'config.change', limit: mostChanges }
  for (const entry of await audit.list(query)) {
    for (const window of windows) {
      const setting = `plans.${now.name}.${window.limit}`
      const limits = [entry.before, entry.after].map((side) => limitIn(side, setting))
      if (limits.some((limit) => limit < limitOf(after, window))) return 'lower'
    }
  }
  return 'exact'
}

/** The limits of a plan; a custom one has none of its own. */
function numbers({ limits }: Plan): Limits {
  return limits === 'custom' ? noLimits : limits
}

/** The limit that a line of the audit tells of; `Infinity` if it tells of none. */
function limitIn(side: unknown, setting: string): number {
  const value: unknown = typeof side === 'object' && side !== null ? Reflect.get(side, setting) : 0
  return typeof value === 'number' && value > 0 ? value : Infinity
}
