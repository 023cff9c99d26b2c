import { entryOf } from '../../../shared/entry-of.ts'
import {
  byWindow,
  dayMs,
  dayWindow,
  numberAt,
  windows,
  type Window,
  type WindowName,
} from '../../../shared/windows.ts'
import {
  numbersPerDay,
  placeOf,
  unrecorded,
  type PeakStore,
  type QuotaPeaks,
} from '../../front/counts/peak-store.ts'
import { limitOf, type Limits } from '../../front/limits/limits.ts'
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

/** A window with the limits of a quota in it, and its place in the numbers of a day. */
type JudgedWindow = Readonly<{
  window: Window
  place: number
  now: number
  then: number
  /** The number of the window that runs on a day; `undefined` for one that ends with its day. */
  numberOn: ((day: number) => number) | undefined
}>

/** Tells the windows of quotas. Most have the same limits, and share a list. */
function judging(): (quota: PlannedQuota) => readonly JudgedWindow[] {
  const judgedByLimits = new Map<Limits, readonly JudgedWindow[]>()
  const longOnes = new Map(
    windows.filter(isLong).map((window) => [window, numbersByDay(window)] as const),
  )
  return ({ now, then }) =>
    entryOf(judgedByLimits, then, () =>
      windows.map((window) => ({
        window,
        place: placeOf(window),
        now: limitOf(now, window),
        then: limitOf(then, window),
        numberOn: longOnes.get(window),
      })),
    )
}

/** Whether a window may run on after its day. */
export function isLong({ lengthMs = Infinity }: Window): boolean {
  return lengthMs > dayMs
}

/** The most points of each judged window on the day at a place in the numbers of a quota, as far as they are known. */
function mostOf(judged: readonly JudgedWindow[], numbers: readonly number[], at: number): number[] {
  let shorter = 0
  return judged.map(({ place, now, then, numberOn }) => {
    const most = numbers[at + place] ?? 0
    const isKnown = most !== unrecorded
    if (numberOn && !isKnown && then !== now) return sumOfDays(numbers, numbers[at] ?? 0, numberOn)
    // A window uses at least as much as a shorter one in it, and a month may begin within a week.
    if (isKnown && !numberOn) shorter = most
    return isKnown ? most : shorter
  })
}

const dayPlace = placeOf(dayWindow)

/** The use of a long window up to a day: the sum of its days, for a quota whose months begin on the first. */
function sumOfDays(
  numbers: readonly number[],
  day: number,
  numberOn: (day: number) => number,
): number {
  let sum = 0
  for (let at = 0; at < numbers.length; at += numbersPerDay) {
    const other = numbers[at] ?? 0
    if (other <= day && numberOn(other) === numberOn(day)) sum += numbers[at + dayPlace] ?? 0
  }
  return sum
}

/** Tells the number of a window by its day. A calendar takes 0.1 µs, and is asked 39 million times for two weeks of 100,000 quotas. */
function numbersByDay(window: Window): (day: number) => number {
  const numbers = new Map<number, number>()
  return (day) => entryOf(numbers, day, () => numberAt(window, day * dayMs))
}
