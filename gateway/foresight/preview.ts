import { sortedInTurns } from '../../shared/in-turns.ts'
import type { KeyStore } from '../keys/store.ts'
import type { Plan } from '../limits/limits.ts'
import type { QuotaStore } from '../limits/store.ts'
import type { AuditStore } from '../records/audit-store.ts'
import { dayText } from '../records/usage.ts'
import { boundOf, type Bound } from './bound.ts'
import type { DayPeak, PeakStore } from './peak-store.ts'
import { plannedQuotas, type PlannedQuota, type PlannedQuotas } from './planned-quotas.ts'
import { refusedNow } from './refused-now.ts'
import { unsaidOf } from './unsaid.ts'
import { limitsView, type LimitsView } from './views.ts'

/** A quota that the change would have refused. */
export type HitQuota = Readonly<{
  quota: string
  /** Its key with the lowest id, and that key's name; `keys` is the number of its keys with this plan. */
  key: string
  name: string
  account: string | undefined
  keys: number
  plan: string
  /** The number of days on which it was used. */
  days: number
  daysHit: readonly string[]
  peakMinute: number
  peakDay: number
  /** Whether its next request would be refused, if the change were in force now. */
  refusedNow: boolean
}>

/** A quota that a raised limit has refused. */
export type RefusedQuota = Omit<HitQuota, 'daysHit' | 'refusedNow'> &
  Readonly<{ daysRefused: readonly string[]; refused: Readonly<{ minute: number; day: number }> }>

/** What a change of a plan would have done in some days. */
export type PlanPreview = Readonly<{
  plan: string
  now: LimitsView
  /** The limits then; `null` if the plan is taken away, or if a variable of the environment decides them. */
  then: LimitsView | null
  /** Whether the quotas and days are exactly those, or at least those. */
  bound: Bound
  from: string
  to: string
  /** Quotas that were used in these days, and the sum of the days on which each was used. */
  quotas: number
  days: number
  /** The numbers of all, where the lists are cut. */
  hitQuotas: number
  hitDays: number
  hitNow: number
  hit: readonly HitQuota[]
  /** For raised limits: who was refused by them. */
  refusedQuotas: number
  refused: readonly RefusedQuota[]
  /** Sentences about what this can't tell, or has left out. */
  unsaid: readonly string[]
}>

export type PreviewStores = Readonly<{
  keys: KeyStore
  quota: QuotaStore
  peaks: PeakStore
  audit: AuditStore
}>

export type PreviewAsk = Readonly<{
  now: Plan
  /** The plan as it would be; `undefined` if it is taken away, `variable` if the environment decides it. */
  then: Plan | 'variable' | undefined
  fromDay: number
  toDay: number
  nowMs: number
  /** The most quotas in each list. */
  limit: number
}>

/** Sums over all quotas, and the quotas that a preview tells of. */
type Found = {
  quotas: number
  days: number
  /** The first day of which anything is recorded. */
  firstDay: number
  hit: HitQuota[]
  refused: RefusedQuota[]
  /** The quotas of `hit` that may be at their limits now. */
  near: PlannedQuota[]
}

/** Holds a changed plan against the peaks of the quotas that have it. */
export async function previewPlan(stores: PreviewStores, ask: PreviewAsk): Promise<PlanPreview> {
  const { now, fromDay, toDay, nowMs, limit } = ask
  const isKnown = ask.then !== 'variable'
  const then = ask.then === 'variable' ? now : ask.then
  const planned = await plannedQuotas(stores.keys, now, then, nowMs)
  const found = await findIn(stores.peaks, planned, ask)
  const bound = await boundOf(stores.audit, { now, then, fromDay })
  const without = await refusedNow(stores.quota, found.near)
  const told = found.hit.map((hit) => ({ ...hit, refusedNow: without.has(hit.quota) }))
  const hit = await sortedInTurns(told, byDays)
  const refused = await sortedInTurns(found.refused, byRefusals)
  return {
    plan: now.name,
    now: limitsView(now),
    then: then && isKnown ? limitsView(then) : null,
    bound,
    from: dayText(fromDay),
    to: dayText(toDay),
    quotas: found.quotas,
    days: found.days,
    hitQuotas: hit.length,
    hitDays: hit.reduce((sum, { daysHit }) => sum + daysHit.length, 0),
    hitNow: without.size,
    hit: hit.slice(0, limit),
    refusedQuotas: refused.length,
    refused: refused.slice(0, limit),
    unsaid: unsaidOf({ ...ask, bound, planned, firstDay: found.firstDay }),
  }
}

async function findIn(store: PeakStore, planned: PlannedQuotas, ask: PreviewAsk): Promise<Found> {
  const found: Found = { quotas: 0, days: 0, firstDay: Infinity, hit: [], refused: [], near: [] }
  for await (const some of store.list(ask.fromDay, ask.toDay)) {
    for (const { quota, days } of some) {
      for (const { day } of days) found.firstDay = Math.min(found.firstDay, day)
      const of = planned.quotas.get(quota)
      if (!of) continue
      found.quotas++
      found.days += days.length
      const hitDays = days.filter((day) => isHit(day, of))
      const refusedDays = days.filter((day) => refusalsIn(day, of).some((count) => count > 0))
      if (hitDays.length > 0) {
        found.hit.push(hitQuota(of, days, hitDays, ask))
        if (of.isShutOut || days.some((day) => isNear(day, of, ask.toDay))) found.near.push(of)
      }
      if (refusedDays.length > 0) found.refused.push(refusedQuota(of, days, refusedDays, ask))
    }
  }
  return found
}

/**
 * Whether the limits then would have refused a request of that day. Only changed limits are judged. A lower limit also
 * refuses whatever the limit of that day has refused: a request of several points may have left room.
 */
function isHit(day: DayPeak, { now, then, isShutOut }: PlannedQuota): boolean {
  if (isShutOut) return true
  const passes = (window: 'perMinute' | 'perDay', peak: number, refusals: number): boolean =>
    then[window] !== now[window] &&
    (peak > then[window] || (then[window] < now[window] && refusals > 0))
  return (
    passes('perMinute', day.minute, day.refusedByMinute) ||
    passes('perDay', day.used, day.refusedByDay)
  )
}

/** Whether a quota may be at one of its limits then, by the peaks of today. */
function isNear({ day, minute, used }: DayPeak, { then }: PlannedQuota, today: number): boolean {
  return day === today && (minute >= then.perMinute || used >= then.perDay)
}

/** The refusals of a day by the limits that would be raised. */
function refusalsIn(day: DayPeak, { now, then }: PlannedQuota): [minute: number, day: number] {
  return [
    then.perMinute > now.perMinute ? day.refusedByMinute : 0,
    then.perDay > now.perDay ? day.refusedByDay : 0,
  ]
}

function hitQuota(
  of: PlannedQuota,
  days: readonly DayPeak[],
  hitDays: readonly DayPeak[],
  ask: PreviewAsk,
): HitQuota {
  return { ...about(of, days, ask), daysHit: datesOf(hitDays), refusedNow: false }
}

function refusedQuota(
  of: PlannedQuota,
  days: readonly DayPeak[],
  refusedDays: readonly DayPeak[],
  ask: PreviewAsk,
): RefusedQuota {
  const refused = { minute: 0, day: 0 }
  for (const day of refusedDays) {
    const [minute, ofDay] = refusalsIn(day, of)
    refused.minute += minute
    refused.day += ofDay
  }
  return { ...about(of, days, ask), daysRefused: datesOf(refusedDays), refused }
}

function about(
  { quota, key, name, account, keys }: PlannedQuota,
  days: readonly DayPeak[],
  { now }: PreviewAsk,
) {
  return {
    ...{ quota, key, name, account, keys, plan: now.name, days: days.length },
    peakMinute: Math.max(...days.map(({ minute }) => minute)),
    peakDay: Math.max(...days.map(({ used }) => used)),
  }
}

function datesOf(days: readonly DayPeak[]): string[] {
  return days.map(({ day }) => dayText(day)).sort()
}

function byDays(a: HitQuota, b: HitQuota): number {
  return b.daysHit.length - a.daysHit.length || byName(a, b)
}

function byRefusals(a: RefusedQuota, b: RefusedQuota): number {
  const sum = ({ refused }: RefusedQuota): number => refused.minute + refused.day
  return sum(b) - sum(a) || byName(a, b)
}

/** In an order that is the same everywhere, so that a script can compare two outputs. */
function byName(a: HitQuota | RefusedQuota, b: HitQuota | RefusedQuota): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.quota < b.quota ? -1 : 1
}
