import { nextNumber, numberAt, windows } from '../../../shared/windows.ts'
import { numberOf } from '../../../gateway/front/limits/counters.ts'
import { countsBrief } from '../../../gateway/front/limits/limits.ts'
import type { Invariant } from '../moment.ts'

/** The windows of a decision are those that run, or the ones after them where the clock was set back. */
export const windowsOfTheirTime: Invariant = {
  name: 'windows of their time',
  mistakeAt(moment) {
    if (moment.what !== 'decided') return undefined
    const { ask, decision } = moment
    const { nowMs, seen } = decision
    if (nowMs !== moment.nowMs) return `it was decided at ${nowMs}`
    const isBriefCounted = ask.countsBrief ?? countsBrief(ask.limits)
    for (const window of windows) {
      if (window.isBrief && !isBriefCounted) continue
      const [found, number] = [numberOf(seen, window), numberAt(window, nowMs, seen.monthFrom)]
      const isRight = found === number || found === nextNumber(window, number)
      if (!isRight) return `the ${window.name} is ${found} at ${nowMs}`
    }
    return undefined
  },
}
