import { byWindow, type Window, type WindowName } from '../../../shared/windows.ts'
import {
  numbersPerDay,
  unrecorded,
  type PeakStore,
  type QuotaPeaks,
} from '../../front/counts/peak-store.ts'
import { judging, mostOf, type JudgedWindow } from './judged-windows.ts'
import type { PlannedQuota, PlannedQuotas } from './planned-quotas.ts'

/** A quota that was seen, and the days on which limits would refuse it, or have refused it. */
export type HeldQuota = {
  readonly planned: PlannedQuota
  /** The number of days on which it was used. */
  days: number
  /** The days that it is told for, from 1970. */
  dates: number[]
  /** The highest use of each window. */
  most: Record<WindowName, number>
  /** Refusals by limits that would be raised. */
  readonly refused: Record<WindowName, number>
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
  /** The changed windows that weren't recorded on days of quotas, because nothing limited them. */
  readonly unrecorded: Set<Window>
}

export type Range = Readonly<{ fromDay: number; toDay: number }>

/** Holds peaks against the limits that would be in force. */
export async function heldAgainst(
  store: PeakStore,
  planned: PlannedQuotas,
  { fromDay, toDay }: Range,
): Promise<Held> {
  const lists = { hit: [], refused: [], near: [], unrecorded: new Set<Window>() }
  const judgedOf = judging()
  const summary: Held = { quotas: 0, days: 0, firstDay: Infinity, hitDays: 0, ...lists }
  for await (const some of store.list(fromDay, toDay)) {
    for (const peaks of some) {
      const quota = planned.quotas.get(peaks.quota)
      if (quota) hold(summary, { quota, judged: judgedOf(quota), peaks, today: toDay })
      else for (let i = 0; i < peaks.numbers.length; i += numbersPerDay) begin(summary, peaks, i)
    }
  }
  return summary
}

function begin(summary: Held, { numbers }: QuotaPeaks, i: number): number {
  const day = numbers[i] ?? 0
  if (day < summary.firstDay) summary.firstDay = day
  return day
}

type HeldPeaks = Readonly<{
  quota: PlannedQuota
  judged: readonly JudgedWindow[]
  peaks: QuotaPeaks
  today: number
}>

/** Holds the days of one quota against its limits then. */
function hold(summary: Held, { quota, judged, peaks, today }: HeldPeaks): void {
  const { numbers } = peaks
  const highest = byWindow(() => 0)
  let hit: HeldQuota | undefined
  let refused: HeldQuota | undefined
  let isNear = quota.isShutOut
  for (let at = 0; at < numbers.length; at += numbersPerDay) {
    const day = begin(summary, peaks, at)
    const most = mostOf(judged, numbers, at)
    let [isHit, isRefused] = [quota.isShutOut, false]
    judged.forEach(({ window, place, now, then, numberOn }, i) => {
      const peak = most[i] ?? 0
      if (peak > highest[window.name]) highest[window.name] = peak
      if (peak >= then && (numberOn || day === today)) isNear = true
      if (then === now) return
      if (numbers[at + place] === unrecorded) summary.unrecorded.add(window)
      const refusals = numbers[at + place + 1] ?? 0
      if (isOver(peak, refusals, now, then)) isHit = true
      if (then < now || refusals === 0) return
      isRefused = true
      refused ??= heldQuota(quota)
      refused.refused[window.name] += refusals
    })
    if (isHit) (hit ??= heldQuota(quota)).dates.push(day)
    if (isRefused) refused?.dates.push(day)
  }
  const sums = { days: numbers.length / numbersPerDay, most: highest }
  summary.quotas++
  summary.days += sums.days
  if (hit) {
    summary.hit.push(Object.assign(hit, sums))
    summary.hitDays += hit.dates.length
    if (isNear) summary.near.push(quota)
  }
  if (refused) summary.refused.push(Object.assign(refused, sums))
}

/**
 * Whether the limit then would have refused a request of a day. Only a changed limit is judged. A lower one also refuses
 * whatever the limit of that day has refused: a request of several points may have left room.
 */
function isOver(peak: number, refusals: number, now: number, then: number): boolean {
  return peak > then || (then < now && refusals > 0)
}

function heldQuota(planned: PlannedQuota): HeldQuota {
  const none = byWindow(() => 0)
  return { planned, days: 0, dates: [], most: none, refused: { ...none } }
}
