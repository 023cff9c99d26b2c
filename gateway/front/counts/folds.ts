import { countAnswer, countBeyond, countNear, countShadow, measure } from './answer-metrics.ts'
import { firstFailure, isUsed, type Ended } from './ended.ts'
import type { RequestCounts } from './request-counts.ts'
import { countRouteUse, countUse } from './usage-tallies.ts'

/**
 * Counts everything of a request that has ended, one thing a line. V8 inlines calls that stand here one by one; a loop over a
 * list of them took 50 ns more.
 */
export function countEnded(ended: Ended, counts: RequestCounts): void {
  const { meters, tallies } = counts
  countAnswer(ended, meters.refusals)
  if (ended.record.acted !== undefined) return

  counts.liveCounts.count(ended)
  measure(ended, meters.own)
  counts.timeline.count(ended)
  if (ended.record.refusal || ended.status >= firstFailure) {
    counts.recentRefusals.keep(ended)
  }
  if (!isUsed(ended)) return
  const { decision } = ended.standing

  countUse(ended, tallies)
  countRouteUse(ended, tallies)
  countNear(ended, meters.near)
  if (decision.included) countBeyond(ended, meters.beyond)
  counts.peaks.count(ended)
  counts.nearLimits.count(ended)
  if (ended.record.terms?.shadow) countShadow(ended, meters.shadows, tallies)
}
