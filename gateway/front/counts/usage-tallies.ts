import { countsOf, type DayCounts } from './caller-counts.ts'
import { answeredCost } from '../answered-cost.ts'
import { beyondIn } from '../limits/beyond.ts'
import type { Used } from './ended.ts'
import type { RouteTallies } from './route-tallies.ts'
import type { Tallies } from './tallies.ts'
import { admittedTally, pointTallies, refusedTally } from './use.ts'

/** Tallies the use of a caller by outcome and status, and its points. */
export function countUse(used: Used, tallies: Tallies): void {
  const { caller, record, status } = used
  const counts = countsOf(caller)
  if (isAdmitted(used)) {
    tallies.count(caller.id, counts, admittedTally(status))
    countPoints(used, tallies, counts, pointTallies)
  } else if (record.refusal) tallies.count(caller.id, counts, refusedTally(record.refusal))
}

/** Tallies the same by route, where the configuration wishes it, and for no test key. */
export function countRouteUse(used: Used, tallies: Tallies): void {
  const { caller, record, route } = used
  if (!route.tallies || caller.isTest) return
  const routes = (countsOf(caller).routes ??= { latest: undefined })
  if (isAdmitted(used)) {
    tallies.count(caller.id, routes, route.tallies.admitted)
    countPoints(used, tallies, routes, route.tallies)
  } else if (record.refusal) tallies.count(caller.id, routes, route.tallies.refused)
}

function isAdmitted({ record, standing }: Used): boolean {
  return !record.forbidden && standing.decision.verdict === 'admitted'
}

/**
 * Tallies how many points more or less than one it has cost, the estimate before, and what was beyond; those that were given
 * back are none.
 */
function countPoints(
  { caller, record, standing }: Used,
  tallies: Tallies,
  counts: DayCounts,
  { more, less, ...rare }: Pick<RouteTallies, keyof typeof pointTallies>,
): void {
  const answered = record.route.answerCost && answeredCost(record)
  const { cost: estimate } = standing.decision
  if (answered && estimate > 0) tallies.count(caller.id, counts, rare.estimated, false, estimate)
  const cost = answered?.cost ?? estimate
  const isMetered = standing.decision.included !== undefined && !record.isGivenBack
  const beyond = isMetered ? beyondIn(standing.decision, cost) : 0
  if (beyond > 0) tallies.count(caller.id, counts, rare.beyond, false, beyond)
  const points = (record.isGivenBack ? 0 : cost) - 1
  if (points === 0) return
  tallies.count(caller.id, counts, points > 0 ? more : less, false, Math.abs(points))
}
