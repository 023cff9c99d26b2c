import type { Clock } from '../../../../shared/clock.ts'
import { dayWindow, firstDaysAround, numberAt } from '../../../../shared/windows.ts'

let [day, firstDays] = [0, '']

export type ScriptTimeOptions = Readonly<{
  testClock?: Clock | undefined
  /** Whether gateways of a former version write counters, too. */
  isBesideFormer?: boolean | undefined
}>

/** The time as scripts take it, see time.lua. Without a clock of a test, Redis' own counts. */
export function scriptTime({ testClock, isBesideFormer = false }: ScriptTimeOptions): string {
  const nowMs = testClock?.() ?? Date.now()
  const today = numberAt(dayWindow, nowMs)
  if (today !== day) [day, firstDays] = [today, firstDaysAround(nowMs).join()]
  return `${testClock ? nowMs : ''};${firstDays};${isBesideFormer ? 'former' : ''}`
}
