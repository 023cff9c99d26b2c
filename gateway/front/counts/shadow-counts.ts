import { isJudged, wouldRefuse } from '../limits/shadow.ts'
import { countsOf } from './caller-counts.ts'
import type { Used } from './ended.ts'
import type { Counts } from './meters.ts'
import type { Tallies } from './tallies.ts'

/** Counts a request that the shadow of a plan judges, and the windows that would have refused it. */
export function countShadow(used: Used, shadows: Counts, tallies: Tallies): void {
  const { caller, plan, record, standing } = used
  const shadow = record.terms?.shadow
  if (!shadow || !isJudged(standing.decision)) return
  const counts = countsOf(caller)
  tallies.count(caller.id, counts, shadow.tallies.all)
  for (const window of wouldRefuse(shadow, standing.decision)) {
    shadows.add(plan, window)
    tallies.count(caller.id, counts, shadow.tallies[window], true)
  }
}
