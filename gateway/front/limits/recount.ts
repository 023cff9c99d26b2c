import { copyOf, countedIn, givenBackIn, numberOf, setMark, type Counters } from './counters.ts'
import { lengthOfAllMarks, steadyWindows, windows, type Window } from '../../../shared/windows.ts'

/** The points that a window has counted, and those that came back to it. */
type Count = Readonly<{ number: number; counted: number; givenBack: number }>

export function countIn(counters: Counters, window: Window): Count {
  return {
    number: numberOf(counters, window),
    counted: countedIn(counters, window),
    givenBack: givenBackIn(counters, window),
  }
}

/** Writes other counts into the windows. */
export function recount(counters: Counters, countOf: (window: Window) => Count): void {
  const present = counters.marks.length < lengthOfAllMarks ? steadyWindows : windows
  const counts = present.map((window) => ({ window, ...countOf(window) }))
  counters.total = Math.max(...counts.map(({ counted }) => counted))
  for (const { window, number, counted, givenBack } of counts) {
    setMark(counters, window, number, counted, givenBack)
  }
}

/** Empties all windows. */
export function empty(counters: Counters): void {
  recount(counters, (window) => ({ number: numberOf(counters, window), counted: 0, givenBack: 0 }))
}

/** Takes the larger of both counts in windows of the same number: one of two stores has lost writes. */
export function takeLarger(counters: Counters, other: Counters): void {
  if (!windows.some((window) => isBehind(counters, other, window))) return
  const own = copyOf(counters)
  recount(counters, (window) => larger(countIn(own, window), countIn(other, window)))
}

function isBehind(counters: Counters, other: Counters, window: Window): boolean {
  if (numberOf(counters, window) !== numberOf(other, window)) return false
  return (
    countedIn(counters, window) < countedIn(other, window) ||
    givenBackIn(counters, window) < givenBackIn(other, window)
  )
}

function larger(one: Count, other: Count): Count {
  if (one.number !== other.number) return one
  return {
    number: one.number,
    counted: Math.max(one.counted, other.counted),
    givenBack: Math.max(one.givenBack, other.givenBack),
  }
}

/** Adds the points of a report to windows that still run. */
export function addReport(counters: Counters, report: Counters): void {
  const own = copyOf(counters)
  recount(counters, (window) => {
    const [count, more] = [countIn(own, window), countIn(report, window)]
    if (count.number !== more.number) return count
    const counted = count.counted + more.counted
    const givenBack = Math.min(counted, count.givenBack + more.givenBack)
    return { number: count.number, counted, givenBack }
  })
}

/** The sum of two reports: of a window that has gone on, the later one alone. */
export function sumOfReports(one: Counters, other: Counters): Counters {
  const sum = copyOf(one.marks.length >= other.marks.length ? one : other)
  recount(sum, (window) => {
    const [first, second] = [countIn(one, window), countIn(other, window)]
    if (first.number !== second.number) return first.number > second.number ? first : second
    return {
      number: first.number,
      counted: first.counted + second.counted,
      givenBack: first.givenBack + second.givenBack,
    }
  })
  sum.generation = Math.max(one.generation, other.generation)
  return sum
}

/** Raises what one window has counted, if it is less: others have counted the rest. */
export function raiseTo(counters: Counters, window: Window, counted: number): void {
  if (countedIn(counters, window) >= counted) return
  const own = copyOf(counters)
  recount(counters, (each) =>
    each === window ? { ...countIn(own, each), counted } : countIn(own, each),
  )
}
