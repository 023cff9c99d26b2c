import { numberOf, type Counters } from './counters.ts'
import { limitOf, type Limits } from './limits.ts'
import {
  byLimit,
  limitName,
  numberAt,
  windowOf,
  windows,
  type LimitName,
  type WindowName,
} from '../../../shared/windows.ts'

/** Points that are added to windows, by the names of their limits. */
export type Granted = Readonly<Partial<Record<LimitName, number>>>

/** A grant to a quota: points for the windows in which it was given. */
export type Grant = Granted & Readonly<{ atMs: number; by: string; note?: string | undefined }>

/** A grant that is to be given now. */
export type NewGrant = Omit<Grant, 'atMs'>

/** The points that were granted to one window. */
export type GrantSum = Readonly<{ window: WindowName; number: number; points: number }>

/** All grants of a quota's present windows: the sums, by which requests are decided, and each by itself. */
export type QuotaGrants = Readonly<{
  sums: readonly GrantSum[]
  each: readonly (Grant & Readonly<{ id?: number }>)[]
}>

/** The most grants to a quota whose windows still run. */
export const mostGrants = 50

/** The points that are granted to the windows of counters; `undefined` if none are. */
export function grantedIn({ sums }: QuotaGrants, counters: Counters): Granted | undefined {
  const running = sums.filter(
    ({ window, number }) => numberOf(counters, windowOf(window)) === number,
  )
  if (running.length === 0) return undefined
  return Object.fromEntries(running.map(({ window, points }) => [limitName(window), points]))
}

/** Limits with what was granted. */
export function raised(limits: Limits, granted: Granted): Limits {
  return byLimit((window) => limitOf(limits, window) + (granted[window.limit] ?? 0))
}

/** Whether a window to which a grant added points runs at a time. */
export function runsAt(grant: Grant, nowMs: number, monthFrom: number): boolean {
  return windows.some(
    (window) =>
      (grant[window.limit] ?? 0) > 0 &&
      numberAt(window, grant.atMs, monthFrom) >= numberAt(window, nowMs, monthFrom),
  )
}

/** Grants with one more; those whose windows have ended by then are left out. */
export function withGrant(
  grants: QuotaGrants | undefined,
  grant: QuotaGrants['each'][number],
  monthFrom: number,
): QuotaGrants {
  const each = [
    ...(grants?.each ?? []).filter((other) => runsAt(other, grant.atMs, monthFrom)),
    grant,
  ]
  const sums = windows.flatMap((window) => {
    const number = numberAt(window, grant.atMs, monthFrom)
    const points = each
      .filter(({ atMs }) => numberAt(window, atMs, monthFrom) === number)
      .reduce((sum, other) => sum + (other[window.limit] ?? 0), 0)
    return points > 0 ? [{ window: window.name, number, points }] : []
  })
  return { sums, each }
}

/** The grants of a list, the oldest first; `undefined` of none. */
export function grantsOf(each: QuotaGrants['each'], monthFrom: number): QuotaGrants | undefined {
  return each.reduce<QuotaGrants | undefined>(
    (grants, grant) => withGrant(grants, grant, monthFrom),
    undefined,
  )
}
