import { numberAt, type Window } from '../../../shared/windows.ts'
import { numberOf, type Counters } from '../../../gateway/front/limits/counters.ts'

/** How far a clock is set back at most, until all of its windows run again. */
export const setBackMs = 5_000

/** The numbers of a window that counters may be of at a time, by a clock that may have been set back. */
export function presentNumbers(window: Window, counters: Counters, nowMs: number): number[] {
  const at = (ms: number): number => numberAt(window, ms, counters.monthFrom)
  return [numberOf(counters, window), at(nowMs), at(nowMs + setBackMs)]
}
