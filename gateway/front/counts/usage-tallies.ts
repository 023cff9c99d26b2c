import { countsOf, type DayCounts } from './caller-counts.ts'
import type { Fold, Used } from './ended.ts'
import type { RouteTallies } from './route-tallies.ts'
import type { Tallies } from './tallies.ts'
import { admittedTally, pointTallies, refusedTally } from './use.ts'

/** Tallies the use of a caller by outcome and status, and its points. */
export function countUse(tallies: Tallies): Fold<Used> {
  return (ended) => {
    const { caller, record, status } = ended
    const { usage } = countsOf(caller)
    if (!isAdmitted(ended)) {
      if (record.refusal) tallies.count(caller.id, usage, refusedTally(record.refusal))
      return
    }
    tallies.count(caller.id, usage, admittedTally(status))
    countPoints(tallies, ended, usage, pointTallies)
  }
}

/** Tallies the same by route, where the configuration wishes it, and for no test key. */
export function countRouteUse(tallies: Tallies): Fold<Used> {
  return (ended) => {
    const { caller, record, route } = ended
    if (!route.tallies || caller.isTest) return
    const routes = (countsOf(caller).routes ??= { latest: undefined })
    if (!isAdmitted(ended)) {
      if (record.refusal) tallies.count(caller.id, routes, route.tallies.refused)
      return
    }
    tallies.count(caller.id, routes, route.tallies.admitted)
    countPoints(tallies, ended, routes, route.tallies)
  }
}

function isAdmitted({ record, standing }: Used): boolean {
  return !record.forbidden && standing.decision.verdict === 'admitted'
}

/** Tallies how many points more or less than one it has cost; those that were given back are none. */
function countPoints(
  tallies: Tallies,
  { caller, record, standing }: Used,
  counts: DayCounts,
  { more, less }: Pick<RouteTallies, 'more' | 'less'>,
): void {
  const points = (record.isGivenBack ? 0 : standing.decision.cost) - 1
  if (points === 0) return
  tallies.count(caller.id, counts, points > 0 ? more : less, false, Math.abs(points))
}
