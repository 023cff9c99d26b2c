import { isJudged, wouldRefuse } from '../limits/shadow.ts'
import { countsOf } from './caller-counts.ts'
import type { Fold, Used } from './ended.ts'
import type { Counts } from './meters.ts'
import type { Tallies } from './tallies.ts'

const windowNames = ['minute', 'day'] as const

/** Counts the requests that the shadow of a plan judges, and those that each of its windows would have refused. */
export function countShadow(shadows: Counts, tallies: Tallies): Fold<Used> {
  return ({ caller, plan, record, standing: { decision } }) => {
    const shadow = record.terms?.shadow
    if (!shadow || !isJudged(decision)) return
    const { usage } = countsOf(caller)
    tallies.count(caller.id, usage, shadow.tallies.all)
    const windows = wouldRefuse(shadow, decision)
    if (!windows) return
    for (const window of windowNames) {
      if (!windows.includes(window)) continue
      shadows.add(plan, window)
      tallies.count(caller.id, usage, shadow.tallies[window], true)
    }
  }
}
