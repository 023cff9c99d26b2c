import type { Limits } from './limits.ts'

/** Points that a grant adds to a minute and to a day; 0 adds nothing. */
export type Granted = Readonly<{ perMinute: number; perDay: number }>

/** A grant to a quota: points for the minute and the day in which it was given. */
export type Grant = Granted &
  Readonly<{ minute: number; day: number; by: string; note?: string | undefined }>

/** A grant that is to be given now. */
export type NewGrant = Omit<Grant, 'minute' | 'day'>

/** All grants of a quota's present windows: the sums, by which requests are decided, and each by itself. */
export type QuotaGrants = Granted &
  Readonly<{ minute: number; day: number; each: readonly (Grant & Readonly<{ id?: number }>)[] }>

/** The most grants to a quota in a day. */
export const mostGrants = 50

/** The points that are granted to a minute and a day; `undefined` if none are. */
export function grantedIn(
  grants: Omit<QuotaGrants, 'each'> | undefined,
  minute: number,
  day: number,
): Granted | undefined {
  if (!grants) return undefined
  const perMinute = grants.minute === minute ? grants.perMinute : 0
  const perDay = grants.day === day ? grants.perDay : 0
  return perMinute + perDay > 0 ? { perMinute, perDay } : undefined
}

/** Limits with what was granted. */
export function raised({ perMinute, perDay }: Limits, granted: Granted): Limits {
  return { perMinute: perMinute + granted.perMinute, perDay: perDay + granted.perDay }
}

/** The limits by which a decision was made. */
export function limitsIn(decision: { granted?: Granted | undefined }, limits: Limits): Limits {
  return decision.granted ? raised(limits, decision.granted) : limits
}

/** Grants with one more; those of earlier windows are left out. */
export function withGrant(
  grants: QuotaGrants | undefined,
  grant: QuotaGrants['each'][number],
): QuotaGrants {
  const { minute, day } = grant
  const before = grantedIn(grants, minute, day) ?? { perMinute: 0, perDay: 0 }
  const each = grants?.each.filter((other) => other.day === day) ?? []
  return {
    minute,
    day,
    perMinute: before.perMinute + grant.perMinute,
    perDay: before.perDay + grant.perDay,
    each: [...each, grant],
  }
}

/** Of the grants of two copies of a quota, the later ones, or the larger of one day. */
export function laterGrants(
  one: QuotaGrants | undefined,
  other: QuotaGrants | undefined,
): QuotaGrants | undefined {
  if (!one || !other) return one ?? other
  if (one.day !== other.day) return one.day > other.day ? one : other
  return one.each.length >= other.each.length ? one : other
}

/** The grants of a stored value; `undefined` if it isn't one. */
export function grantsFrom(value: unknown): QuotaGrants | undefined {
  const grants = value as Partial<QuotaGrants> | undefined | null
  if (typeof grants !== 'object' || grants === null || !Array.isArray(grants.each)) return undefined
  const { minute, day, perMinute, perDay } = grants
  const isWhole = [minute, day, perMinute, perDay].every(Number.isSafeInteger)
  return isWhole ? (grants as QuotaGrants) : undefined
}
