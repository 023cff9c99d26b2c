import { dayMs, dayWindow, numberAt, windows, type Window } from '../../../shared/windows.ts'
import { numbersPerDay, placeOf, unrecorded } from '../../front/counts/peak-store.ts'
import { limitOf, type Limits } from '../../front/limits/limits.ts'
import type { PlannedQuota } from './planned-quotas.ts'

/** A window with the limits of a quota in it, and its place in the numbers of a day. */
export type JudgedWindow = Readonly<{
  window: Window
  place: number
  now: number
  then: number
  /** The number of the window that runs on a day; `undefined` for one that ends with its day. */
  numberOn: ((day: number) => number) | undefined
}>

/** Tells the windows of quotas. Most have the same limits, and share a list. */
export function judging(): (quota: PlannedQuota) => readonly JudgedWindow[] {
  const judgedByLimits = new Map<Limits, readonly JudgedWindow[]>()
  const longOnes = new Map(
    windows.filter(isLong).map((window) => [window, numbersByDay(window)] as const),
  )
  return ({ now, then }) => {
    const present = judgedByLimits.get(then)
    if (present) return present
    const judged = windows.map((window) => ({
      window,
      place: placeOf(window),
      now: limitOf(now, window),
      then: limitOf(then, window),
      numberOn: longOnes.get(window),
    }))
    judgedByLimits.set(then, judged)
    return judged
  }
}

/** Whether a window may run on after its day. */
export function isLong({ lengthMs = Infinity }: Window): boolean {
  return lengthMs > dayMs
}

/** The most points of each judged window on the day at a place in the numbers of a quota, as far as they are known. */
export function mostOf(
  judged: readonly JudgedWindow[],
  numbers: readonly number[],
  at: number,
): number[] {
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
  return (day) => {
    let number = numbers.get(day)
    if (number === undefined) numbers.set(day, (number = numberAt(window, day * dayMs)))
    return number
  }
}
