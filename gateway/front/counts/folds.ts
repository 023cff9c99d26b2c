import { steadyWindows } from '../../../shared/windows.ts'
import { answeredCost } from '../answered-cost.ts'
import { beyondIn, beyondOf } from '../limits/beyond.ts'
import { limitOf } from '../limits/limits.ts'
import { isNear } from '../limits/near.ts'
import { isJudged, wouldRefuse } from '../limits/shadow.ts'
import { usedBy } from '../limits/step.ts'
import { countsOf, type DayCounts } from './caller-counts.ts'
import { firstFailure, isUsed, type Ended, type Used } from './ended.ts'
import type { Histogram } from './histogram.ts'
import type { Counts } from './meters.ts'
import type { RequestCounts } from './request-counts.ts'
import type { Tallies } from './tallies.ts'
import { admittedTally, pointTallies, refusalLabels, refusedTally } from './use.ts'

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
  countNear(ended, meters.near)
  if (decision.included) countBeyond(ended, meters.beyond)
  counts.peaks.count(ended)
  counts.nearLimits.count(ended)
  if (ended.record.terms?.shadow) countShadow(ended, meters.shadows, tallies)
}

/** Counts an answer by route, plan and status, and a refusal by plan and name. */
function countAnswer({ route, plan, status, record }: Ended, refusals: Counts): void {
  route.meter.answers.add(plan, status)
  if (record.refusal) refusals.add(plan, refusalLabels(record.refusal))
}

/** Measures a request by route, and the gateway's own part of it. */
function measure({ route, record, endedAtMs }: Ended, own: Histogram): void {
  const { beganAtMs, sentAtMs } = record
  route.meter.durations.add(endedAtMs - beganAtMs)
  own.add((sentAtMs || endedAtMs) - beganAtMs)
}

/** Counts the points of a request beyond what is included, by plan and window. */
function countBeyond({ plan, record, standing }: Used, beyond: Counts): void {
  const { decision } = standing
  if (record.isGivenBack) return
  const cost = answeredCost(record)?.cost ?? decision.cost
  for (const { window, points } of beyondOf(decision, cost)) beyond.add(plan, window.name, points)
}

/** Counts an admitted request near a limit by plan and window. */
function countNear({ plan, standing: { decision, limits } }: Used, near: Counts): void {
  if (decision.verdict !== 'admitted') return
  for (const window of steadyWindows) {
    if (isNear(usedBy(decision, window), limitOf(limits, window))) near.add(plan, window.name)
  }
}

/** Counts a request that the shadow of a plan judges, and the windows that would have refused it. */
function countShadow(used: Used, shadows: Counts, tallies: Tallies): void {
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

/** Tallies the use of a caller by outcome and status, and its points. */
function countUse(used: Used, tallies: Tallies): void {
  const { caller, record, standing, status } = used
  const counts = countsOf(caller)
  if (!record.forbidden && standing.decision.verdict === 'admitted') {
    tallies.count(caller.id, counts, admittedTally(status))
    countPoints(used, tallies, counts)
  } else if (record.refusal) tallies.count(caller.id, counts, refusedTally(record.refusal))
}

/**
 * Tallies how many points more or less than one it has cost, the estimate before, and what was beyond; those that were given
 * back are none.
 */
function countPoints(
  { caller, record, standing }: Used,
  tallies: Tallies,
  counts: DayCounts,
): void {
  const { more, less, estimated, beyond: above } = pointTallies
  const answered = record.route.answerCost && answeredCost(record)
  const { cost: estimate } = standing.decision
  if (answered && estimate > 0) tallies.count(caller.id, counts, estimated, false, estimate)
  const cost = answered?.cost ?? estimate
  const isMetered = standing.decision.included !== undefined && !record.isGivenBack
  const beyond = isMetered ? beyondIn(standing.decision, cost) : 0
  if (beyond > 0) tallies.count(caller.id, counts, above, false, beyond)
  const points = (record.isGivenBack ? 0 : cost) - 1
  if (points === 0) return
  tallies.count(caller.id, counts, points > 0 ? more : less, false, Math.abs(points))
}
