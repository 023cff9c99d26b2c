import { numberOf, type Counters } from './counters.ts'
import {
  briefWindows,
  dayMs,
  dayWindow,
  lengthOfAllMarks,
  lengthOfSteadyMarks,
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

/** Counters from the numbers of their text; `undefined` if it isn't one. */
export function countersFrom(numbers: readonly number[]): Counters | undefined {
  if (!lengthsOfText.includes(numbers.length) || !numbers.every(Number.isSafeInteger))
    return undefined
  const [total = 0, generation = 0, monthFrom = 1, day = 0, ...marks] = numbers
  for (const window of marks.length > lengthOfSteadyMarks ? inOrderOfMarks : steadyWindows) {
    marks[window.at] = (marks[window.at] ?? 0) + day * inADay(window)
  }
  return { total, marks, monthFrom, generation }
}
