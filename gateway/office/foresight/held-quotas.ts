import { numbersPerDay, type PeakStore, type QuotaPeaks } from '../../front/counts/peak-store.ts'
import type { PlannedQuota, PlannedQuotas } from './planned-quotas.ts'

/** A quota that was seen, and the days on which limits would refuse it, or have refused it. */
export type HeldQuota = {
  readonly planned: PlannedQuota
  /** The number of days on which it was used. */
  days: number
  /** The days that it is told for, from 1970. */
  dates: number[]
  peakMinute: number
  peakDay: number
  /** Refusals by limits that would be raised. */
  byMinute: number
  byDay: number
}

/** Sums over all quotas, and the quotas that a preview tells of. */
export type Held = {
  quotas: number
  days: number
  /** The first day of which anything is recorded. */
  firstDay: number
  /** Those that the limits then would have refused. */
  hit: HeldQuota[]
  /** The sum of their days. */
  hitDays: number
  /** Those that were refused by limits that would be raised. */
  refused: HeldQuota[]
  /** The quotas of `hit` that may be at their limits now. */
  near: PlannedQuota[]
}

export type Range = Readonly<{ fromDay: number; toDay: number }>

/** Holds peaks against the limits that would be in force. */
export async function heldAgainst(
  store: PeakStore,
  planned: PlannedQuotas,
  { fromDay, toDay }: Range,
): Promise<Held> {
  const lists = { hit: [], refused: [], near: [] }
  const held: Held = { quotas: 0, days: 0, firstDay: Infinity, hitDays: 0, ...lists }
  for await (const some of store.list(fromDay, toDay)) {
    for (const peaks of some) {
      const quota = planned.quotas.get(peaks.quota)
      if (quota) hold(held, quota, peaks, toDay)
      else for (let i = 0; i < peaks.numbers.length; i += numbersPerDay) begin(held, peaks, i)
    }
  }
  return held
}

function begin(held: Held, { numbers }: QuotaPeaks, i: number): number {
  const day = numbers[i] ?? 0
  if (day < held.firstDay) held.firstDay = day
  return day
}

/** Holds the days of one quota against its limits then. */
function hold(held: Held, quota: PlannedQuota, peaks: QuotaPeaks, today: number): void {
  const { now, then, isShutOut } = quota
  const { numbers } = peaks
  let hit: HeldQuota | undefined
  let refused: HeldQuota | undefined
  let [peakMinute, peakDay, isNear] = [0, 0, isShutOut]
  for (let i = 0; i < numbers.length; i += numbersPerDay) {
    const day = begin(held, peaks, i)
    const [minute = 0, used = 0] = [numbers[i + 1], numbers[i + 2]]
    const [byMinute = 0, byDay = 0] = [numbers[i + 3], numbers[i + 4]]
    if (minute > peakMinute) peakMinute = minute
    if (used > peakDay) peakDay = used
    const isHit =
      isShutOut ||
      isOver(minute, byMinute, now.perMinute, then.perMinute) ||
      isOver(used, byDay, now.perDay, then.perDay)
    if (isHit) (hit ??= heldQuota(quota)).dates.push(day)
    const raisedMinute = then.perMinute > now.perMinute ? byMinute : 0
    const raisedDay = then.perDay > now.perDay ? byDay : 0
    if (raisedMinute + raisedDay > 0) {
      refused ??= heldQuota(quota)
      refused.dates.push(day)
      refused.byMinute += raisedMinute
      refused.byDay += raisedDay
    }
    isNear ||= day === today && (minute >= then.perMinute || used >= then.perDay)
  }
  const days = numbers.length / numbersPerDay
  held.quotas++
  held.days += days
  if (hit) {
    held.hit.push(Object.assign(hit, { days, peakMinute, peakDay }))
    held.hitDays += hit.dates.length
    if (isNear) held.near.push(quota)
  }
  if (refused) held.refused.push(Object.assign(refused, { days, peakMinute, peakDay }))
}

/**
 * Whether the limit then would have refused a request of a day. Only a changed limit is judged. A lower one also refuses
 * whatever the limit of that day has refused: a request of several points may have left room.
 */
function isOver(peak: number, refusals: number, now: number, then: number): boolean {
  return then !== now && (peak > then || (then < now && refusals > 0))
}

function heldQuota(planned: PlannedQuota): HeldQuota {
  return { planned, days: 0, dates: [], peakMinute: 0, peakDay: 0, byMinute: 0, byDay: 0 }
}
