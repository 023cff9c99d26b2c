import type { Fold, Used } from './ended.ts'
import { isNear } from '../limits/near.ts'
import type { Counts, Durations } from './meters.ts'
import { refusalName } from './use.ts'

/** Counts answers by route, plan and status, and refusals by plan and name. */
export function countAnswers(refusals: Counts): Fold {
  return ({ route, plan, status, record: { refusal } }) => {
    route.meter.answers.add(plan, status)
    if (refusal) refusals.add(plan, refusalName(refusal))
  }
}

/** Measures requests by route, and the gateway's own part of them. */
export function measure(own: Durations): Fold {
  return ({ route, record: { beganAtMs, sentAtMs }, endedAtMs }) => {
    route.meter.durations.add(endedAtMs - beganAtMs)
    own.add((sentAtMs || endedAtMs) - beganAtMs)
  }
}

/** Counts admitted requests near a limit by plan and window. */
export function countNear(near: Counts): Fold<Used> {
  return ({ plan, standing: { decision, limits } }) => {
    if (decision.verdict !== 'admitted') return
    if (isNear(decision.minuteUsed, limits.perMinute)) near.add(plan, 'minute')
    if (isNear(decision.dayUsed, limits.perDay)) near.add(plan, 'day')
  }
}
