import { steadyWindows } from '../../../shared/windows.ts'
import { answeredCost } from '../answered-cost.ts'
import { beyondOf } from '../limits/beyond.ts'
import { limitOf } from '../limits/limits.ts'
import { usedBy } from '../limits/step.ts'
import { isNear } from '../limits/near.ts'
import type { Ended, Used } from './ended.ts'
import type { Histogram } from './histogram.ts'
import type { Counts } from './meters.ts'
import { refusalLabels } from './use.ts'
import { isJudged, wouldRefuse } from '../limits/shadow.ts'
import { countsOf } from './caller-counts.ts'
import type { Tallies } from './tallies.ts'

/** Counts an answer by route, plan and status, and a refusal by plan and name. */
export function countAnswer({ route, plan, status, record }: Ended, refusals: Counts): void {
  route.meter.answers.add(plan, status)
  if (record.refusal) refusals.add(plan, refusalLabels(record.refusal))
}

/** Measures a request by route, and the gateway's own part of it. */
export function measure({ route, record, endedAtMs }: Ended, own: Histogram): void {
  const { beganAtMs, sentAtMs } = record
  route.meter.durations.add(endedAtMs - beganAtMs)
  own.add((sentAtMs || endedAtMs) - beganAtMs)
}

/** Counts the points of a request beyond what is included, by plan and window. */
export function countBeyond({ plan, record, standing }: Used, beyond: Counts): void {
  const { decision } = standing
  if (record.isGivenBack) return
  const cost = answeredCost(record)?.cost ?? decision.cost
  for (const { window, points } of beyondOf(decision, cost)) beyond.add(plan, window.name, points)
}

/** Counts an admitted request near a limit by plan and window. */
export function countNear({ plan, standing: { decision, limits } }: Used, near: Counts): void {
  if (decision.verdict !== 'admitted') return
  for (const window of steadyWindows) {
    if (isNear(usedBy(decision, window), limitOf(limits, window))) near.add(plan, window.name)
  }
}

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
