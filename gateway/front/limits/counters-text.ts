import { numberOf, type Counters } from './counters.ts'
import {
  briefWindows,
  dayMs,
  dayWindow,
  lengthOfAllMarks,
  lengthOfSteadyMarks,
  shortest,
  steadyWindows,
  type Window,
} from '../../../shared/windows.ts'

/** The windows in the order of their marks. */
const inOrderOfMarks = [...steadyWindows, ...briefWindows]

/**
 * Counters as a text, which Redis and files keep: the total, and behind it the generation, the day on which months begin,
 * the day, and the marks. Their numbers are those within the day, and a total is told by its distance from that of the
 * shortest window. So it mostly stays below 64 characters, up to which Redis keeps small hashes in a third of the memory, and
 * behind the total it changes only with its windows.
 */
export function textOf(counters: Counters): string {
  return `${counters.total},${textOfMarks(counters)}`
}

export function textOfMarks(counters: Counters): string {
  const { marks, monthFrom, generation } = counters
  const day = numberOf(counters, dayWindow)
  const before = marks[shortest.at + 1] ?? 0
  let text = `${generation},${monthFrom},${day}`
  for (const window of marks.length > lengthOfSteadyMarks ? inOrderOfMarks : steadyWindows) {
    const { at } = window
    const total = marks[at + 1] ?? 0
    text += `,${(marks[at] ?? 0) - day * inADay(window)}`
    text += `,${window === shortest ? total : before - total},${marks[at + 2]}`
  }
  return text
}

/** The whole windows of a day; what is longer is numbered by days. */
export function inADay({ unitMs }: Pick<Window, 'unitMs'>): number {
  return Math.floor(dayMs / unitMs)
}

/** The numbers of a text of counters; the shorter form lacks the brief windows. */
const lengthsOfText = [lengthOfSteadyMarks + 4, lengthOfAllMarks + 4]

/** Counters from their text; `undefined` if it isn't one. */
export function countersFrom(text: string): Counters | undefined {
  return countersOf(text.split(',').map(Number))
}

/** The same of its numbers: JSON reads those of many texts in a third of the time. */
export function countersOf(numbers: readonly number[]): Counters | undefined {
  if (!lengthsOfText.includes(numbers.length) || !numbers.every(Number.isSafeInteger))
    return undefined
  const [total = 0, generation = 0, monthFrom = 1, day = 0, ...marks] = numbers
  for (const window of marks.length > lengthOfSteadyMarks ? inOrderOfMarks : steadyWindows) {
    const { at } = window
    marks[at] = (marks[at] ?? 0) + day * inADay(window)
    if (window !== shortest) marks[at + 1] = (marks[shortest.at + 1] ?? 0) - (marks[at + 1] ?? 0)
  }
  return marks.every(Number.isSafeInteger) ? { total, marks, monthFrom, generation } : undefined
}
