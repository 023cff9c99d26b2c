import { newCounters, numberOf, type Counters } from './counters.ts'
import { recount } from './recount.ts'
import {
  briefWindows,
  dayMs,
  dayWindow,
  lengthOfAllMarks,
  lengthOfSteadyMarks,
  minuteMs,
  numberAt,
  steadyWindows,
  type Window,
} from '../../../shared/windows.ts'

/** The windows in the order of their marks. */
const inOrderOfMarks = [...steadyWindows, ...briefWindows]

/**
 * Counters as a text, which Redis and files keep: the total, and behind it the generation, the day on which months begin,
 * the day, and the marks, whose numbers are those within the day. It stays below 64 characters, up to which Redis keeps
 * small hashes in a third of the memory, and behind the total it changes only with its windows.
 */
export function textOf(counters: Counters): string {
  return `${counters.total},${textOfMarks(counters)}`
}

export function textOfMarks(counters: Counters): string {
  const { marks, monthFrom, generation } = counters
  const day = numberOf(counters, dayWindow)
  let text = `${generation},${monthFrom},${day}`
  for (const window of marks.length > lengthOfSteadyMarks ? inOrderOfMarks : steadyWindows) {
    const { at } = window
    text += `,${(marks[at] ?? 0) - day * inADay(window)},${marks[at + 1]},${marks[at + 2]}`
  }
  return text
}

/** The whole windows of a day, none of what is longer; months are numbered by days. */
export function inADay({ lengthMs = dayMs }: Pick<Window, 'lengthMs'>): number {
  return Math.floor(dayMs / lengthMs)
}

/** The numbers of a text of counters; the shorter form lacks the brief windows. */
const lengthsOfText = [lengthOfSteadyMarks + 4, lengthOfAllMarks + 4]

/**
 * Counters from the numbers of their text; `undefined` if it isn't one. Former counters don't know the day on which months
 * begin.
 */
export function countersFrom(
  numbers: readonly number[],
  { monthFrom = 1 }: Readonly<{ monthFrom?: number }> = {},
): Counters | undefined {
  if (areFormer(numbers)) return formerCounters(numbers, monthFrom)
  if (!lengthsOfText.includes(numbers.length) || !numbers.every(Number.isSafeInteger))
    return undefined
  const [total = 0, generation = 0, from = 1, day = 0, ...marks] = numbers
  for (const window of marks.length > lengthOfSteadyMarks ? inOrderOfMarks : steadyWindows) {
    marks[window.at] = (marks[window.at] ?? 0) + day * inADay(window)
  }
  return { total, marks, monthFrom: from, generation }
}

export function areFormer(numbers: readonly number[]): boolean {
  return numbers.length === lengthOfFormerText
}

/** Counters of format 1 knew a minute and a day: "minute,used,day,used,givenBack,generation". */
const lengthOfFormerText = 6

/** Longer windows have counted what their latest part has: nobody knows more. */
function formerCounters(numbers: readonly number[], monthFrom: number): Counters | undefined {
  if (!numbers.every(Number.isSafeInteger)) return undefined
  const [minute = 0, ofMinute = 0, day = 0, ofDay = 0, givenBack = 0, generation = 0] = numbers
  const counters = { ...newCounters(), monthFrom, generation }
  recount(counters, (window) =>
    (window.lengthMs ?? dayMs) < dayMs
      ? { number: numberAt(window, minute * minuteMs), counted: ofMinute, givenBack: 0 }
      : { number: numberAt(window, day * dayMs, monthFrom), counted: ofDay, givenBack },
  )
  return counters
}
