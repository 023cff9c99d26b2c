import { pathOf } from '../../../shared/service.ts'
import { countAnswers, countNear, measure } from './answer-metrics.ts'
import { firstFailure, type Fold, type Used } from './ended.ts'
import type { RequestCounts } from './request-counts.ts'
import { countShadow } from './shadow-counts.ts'
import { countRouteUse, countUse } from './usage-tallies.ts'

export type Folds = Readonly<{
  /** Of all requests. */
  ofAll: readonly Fold[]
  /** Of those that no test key wished to have acted. */
  ofReal: readonly Fold[]
  /** Of those that are usage of their caller. */
  ofUsed: readonly Fold<Used>[]
}>

/** Everything that is counted when a request has ended. */
export function foldsOver(counts: RequestCounts): Folds {
  const { meters, tallies, recentRefusals, timeline, liveCounts, peaks, nearLimits } = counts
  return {
    ofAll: [countAnswers(meters.refusals)],
    ofReal: [
      measure(meters.own),
      (ended) => liveCounts.count(ended),
      (ended) => {
        if (!ended.record.refusal && ended.status < firstFailure) return
        recentRefusals.keep(ended, pathOf(ended.request))
      },
      (ended) => timeline.count(ended),
    ],
    ofUsed: [
      countUse(tallies),
      countRouteUse(tallies),
      countNear(meters.near),
      (used) => peaks.count(used),
      (used) => nearLimits.count(used),
      countShadow(meters.shadows, tallies),
    ],
  }
}
