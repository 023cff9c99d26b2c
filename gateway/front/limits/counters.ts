import { limitedIn, type Limits } from './limits.ts'
import {
  beginsAtMs,
  briefWindows,
  dayMs,
  dayWindow,
  endsAtMs,
  lengthOfAllMarks,
  lengthOfSteadyMarks,
  longWindows,
  nextNumber,
  numberAt,
  shortest,
  steadyWindows,
  windows,
  type Window,
} from '../../../shared/windows.ts'

/**
 * The points of a quota. They are counted once, and each window remembers the total when it began: a request adds to one
 * number, however many windows there are. What a window has used, and what came back to it, only grows until it ends.
 */
export type Counters = {
  /** Of any beginning: only its distance from the marks says something. */
  total: number
  /**
   * The mark of each window at its position: the window's number, the total when it began, and the points that came back
   * to it. Flat, because 100,000 quotas with an object for each window would take 20 MB more.
   */
  marks: number[]
  /** The day on which its months begin. */
  monthFrom: number
  /** Rises when an operator resets the quota or lifts a ban: counters seen before don't count any more. */
  generation: number
}

const steadyBlank: readonly number[] = Array.from({ length: lengthOfSteadyMarks }, () => 0)
const wholeBlank: readonly number[] = Array.from({ length: lengthOfAllMarks }, () => 0)

export function newCounters(): Counters {
  return { total: 0, marks: steadyBlank.slice(), monthFrom: 1, generation: 0 }
}

export function copyOf({ total, marks, monthFrom, generation }: Counters): Counters {
  return { total, marks: marks.slice(), monthFrom, generation }
}

/** The number of the window that was counted last; 0 if none was. */
export function numberOf({ marks }: Counters, { at }: Window): number {
  return at < marks.length ? (marks[at] ?? 0) : 0
}

/** The points that a window has counted, also those that came back. */
export function countedIn({ total, marks }: Counters, { at }: Window): number {
  return at < marks.length ? total - (marks[at + 1] ?? 0) : 0
}

/** The points that came back to a window. */
export function givenBackIn({ marks }: Counters, { at }: Window): number {
  return marks[at + 2] ?? 0
}

/** The points that a window has used, without those that came back. */
export function usedIn(counters: Counters, window: Window): number {
  return countedIn(counters, window) - givenBackIn(counters, window)
}

/** The points that each window has used, by its place among all windows. */
export function usedOf(counters: Counters): number[] {
  const used: number[] = []
  for (const window of windows) used.push(usedIn(counters, window))
  return used
}

/** Begins new windows where the old ones have ended. Brief ones are begun if they are counted. */
export function roll(counters: Counters, nowMs: number, countsBrief: boolean): void {
  if (!areRunning(counters, nowMs)) {
    // While a day runs, its month does: that spares a look at the calendar with each new minute.
    const isSameDay = runs(counters, dayWindow, nowMs)
    for (const window of steadyWindows) {
      if (!isSameDay || window.lengthMs !== undefined) begin(counters, window, nowMs)
    }
  }
  if (!countsBrief) return
  if (counters.marks.length < lengthOfAllMarks) {
    counters.marks = [...counters.marks, ...wholeBlank.slice(counters.marks.length)]
  }
  for (const window of briefWindows) begin(counters, window, nowMs)
}

/** Whether all steady windows have ended for a day: none runs again where a clock is set back. */
export function areOver(counters: Counters, nowMs: number): boolean {
  const { monthFrom } = counters
  return steadyWindows.every(
    (window) => numberOf(counters, window) < numberAt(window, nowMs - dayMs, monthFrom),
  )
}

/** Whether all steady windows run still, as they mostly do. */
export function areRunning(counters: Counters, nowMs: number): boolean {
  return runs(counters, shortest, nowMs)
}

/** Whether a window runs still. A clock that is set back by less than a window doesn't begin the earlier one again. */
function runs(counters: Counters, window: Window, nowMs: number): boolean {
  const counted = numberOf(counters, window)
  const number = numberAt(window, nowMs, counters.monthFrom)
  return counted === number || counted === nextNumber(window, number)
}

function begin(counters: Counters, window: Window, nowMs: number): void {
  if (runs(counters, window, nowMs)) return
  setMark(counters, window, numberAt(window, nowMs, counters.monthFrom), 0, 0)
}

/** Begins a window with what it has counted so far. */
export function setMark(
  { total, marks }: Counters,
  { at }: Window,
  number: number,
  counted: number,
  givenBack: number,
): void {
  marks[at] = number
  marks[at + 1] = total - counted
  marks[at + 2] = givenBack
}

/** Has months begin on another day: the running one begins anew, and other windows go on. */
export function setMonthFrom(counters: Counters, monthFrom: number, nowMs: number): void {
  if (monthFrom === counters.monthFrom) return
  counters.monthFrom = monthFrom
  for (const window of steadyWindows) {
    if (window.lengthMs === undefined) {
      setMark(counters, window, numberAt(window, nowMs, monthFrom), 0, 0)
    }
  }
}

/** The time at which the latest of the running windows began: later than now, if the clock was set back. */
export function beginningOf(counters: Counters): number {
  return Math.max(...steadyWindows.map((window) => beginsAtMs(window, numberOf(counters, window))))
}

/** Whether points fit into all windows. */
export function fits(counters: Counters, cost: number, limits: Limits): boolean {
  return fullWindow(counters, cost, limits) === undefined
}

/** The window without room for points that ends last, of equals the longest; `undefined` if all have room. */
export function fullWindow(counters: Counters, cost: number, limits: Limits): Window | undefined {
  let last: Window | undefined
  for (const { window, limit } of limitedIn(limits)) {
    if (usedIn(counters, window) + cost <= limit) continue
    if (!last || endOf(counters, window) > endOf(counters, last)) last = window
  }
  return last
}

/** The end of the window that was counted last. */
export function endOf(counters: Counters, window: Window): number {
  return endsAtMs(window, numberOf(counters, window))
}

/** The points that a request has cost beyond those that were counted; below 0 if it has cost fewer. */
export type Adjustment = Readonly<{
  points: number
  /** Whether it was answered. The points of one that wasn't don't come back to brief windows and minutes. */
  isAnswered: boolean
  /** Whether its admission came too late. Of bought points no more comes back then than it took. */
  isLate?: boolean
}>

/** Gives the points of a request back that couldn't be answered. */
export function unanswered(cost: number): Adjustment {
  return { points: -cost, isAnswered: false }
}

/** Adjusts those windows of an admission that still run; none gets below 0. */
export function adjust(
  counters: Counters,
  { points, isAnswered }: Adjustment,
  admission: Counters,
): void {
  const present = counters.marks.length < lengthOfAllMarks ? steadyWindows : windows
  if (points > 0) counters.total += points
  for (const window of present) {
    const { at, comesBack } = window
    const isRunning = numberOf(counters, window) === numberOf(admission, window)
    // The total has grown for all windows, also for those that began later.
    if (points > 0 && !isRunning) counters.marks[at + 1] = (counters.marks[at + 1] ?? 0) + points
    if (points < 0 && isRunning && (isAnswered || comesBack)) {
      const left = usedIn(counters, window)
      counters.marks[at + 2] = givenBackIn(counters, window) + Math.min(-points, left)
    }
  }
}

/** Whether counters are later ones of the same quota. Windows only go forward, and their use only grows. */
export function areLater(counters: Counters, last: Counters): boolean {
  if (counters.generation !== last.generation) return counters.generation > last.generation
  const [number, lastNumber] = [numberOf(counters, shortest), numberOf(last, shortest)]
  if (number !== lastNumber) return number > lastNumber
  // A report may count in the day alone: it was of another month.
  return countedInLong(counters) >= countedInLong(last)
}

function countedInLong(counters: Counters): number {
  return longWindows.reduce((sum, window) => sum + countedIn(counters, window), 0)
}

/** Writes other counters into an object that stays. */
export function overwrite(
  counters: Counters,
  { total, marks, monthFrom, generation }: Counters,
): void {
  counters.total = total
  counters.monthFrom = monthFrom
  counters.generation = generation
  for (let i = 0; i < marks.length; i++) counters.marks[i] = marks[i] ?? 0
  if (counters.marks.length > marks.length) counters.marks.length = marks.length
}
