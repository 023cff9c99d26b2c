import type { Clock } from '../../../../shared/clock.ts'
import { dayWindow, firstDaysAround, numberAt } from '../../../../shared/windows.ts'

let [day, firstDays] = [0, '']

/** The time as scripts take it, see time.lua. Without a clock of a test, Redis' own counts. */
export function scriptTime(testClock?: Clock): string {
  const nowMs = testClock?.() ?? Date.now()
  const today = numberAt(dayWindow, nowMs)
  if (today !== day) [day, firstDays] = [today, firstDaysAround(nowMs).join()]
  return `${testClock ? nowMs : ''};${firstDays}`
}
