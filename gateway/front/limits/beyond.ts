import { numberOf, usedIn, type Counters } from './counters.ts'
import { limitedIn, limitOf, type Limits } from './limits.ts'
import { pointsIn, withPoints, type PastPoints } from './past-points.ts'
import { dayWindow, type Window } from '../../../shared/windows.ts'

/**
 * The points that are included in windows that meter what lies beyond; `Infinity` in all others. The limits of such a
 * window are those that refuse.
 */
export type Included = Limits

/** The points that are included in a window: up to its limit, or to where metering begins. */
export function includedPoints(
  { included }: Readonly<{ included?: Included | undefined }>,
  limits: Limits,
  window: Window,
): number {
  return Math.min(limitOf(limits, window), included ? limitOf(included, window) : Infinity)
}

/** The points of a window beyond those that are included: of a prepaid one, those that were bought. */
export function beyondBy(
  { used, purse }: Pick<Counted, 'used' | 'purse'>,
  window: Window,
  included: number,
): number {
  if (purse?.window === window) return usedIn(purse.taken, window)
  return Math.max(0, (used[window.index] ?? 0) - included)
}

/** A decision, as far as it matters here. */
type Counted = Readonly<{
  verdict: string
  used: readonly number[]
  cost: number
  included?: Included | undefined
  purse?: Readonly<{ window: Window; room: number; took: number; taken: Counters }> | undefined
}>

/** Of the points that a request has cost in the end, those beyond what is included, by the windows in which they are. */
export function beyondOf(
  { verdict, used, cost: admittedWith, included, purse }: Counted,
  cost: number,
): readonly Readonly<{ window: Window; points: number }>[] {
  if (!included || verdict !== 'admitted') return []
  if (purse) {
    const { window, room, took } = purse
    const more = cost - admittedWith
    const points = Math.max(0, took + (more < 0 ? more : Math.max(0, more - room)))
    return points > 0 ? [{ window, points }] : []
  }
  return limitedIn(included).flatMap(({ window, limit }) => {
    const points = Math.min(cost, (used[window.index] ?? 0) + cost - admittedWith - limit)
    return points > 0 ? [{ window, points }] : []
  })
}

/** The same of all windows: a point is beyond if it is so in any. */
export function beyondIn(decision: Counted, cost: number): number {
  if (!decision.included) return 0
  return Math.max(0, ...beyondOf(decision, cost).map(({ points }) => points))
}

/** The counters of a quota, and its points beyond what was included, of each day. */
type Metered = Counters & { past?: PastPoints | undefined; beyond?: PastPoints | undefined }

/** Notes points that were counted in a day, or have come back to it if they are below 0. What was beyond comes back first. */
export function noteBeyond(
  state: Metered,
  counted: Counters,
  points: number,
  included: Included | undefined,
): void {
  const beyond = points < 0 ? points : included ? laterBeyond(state, counted, points, included) : 0
  noteBeyondPoints(state, counted, beyond)
}

/** Notes points beyond what was included, or takes some back. */
export function noteBeyondPoints(state: Metered, counted: Counters, points: number): void {
  if (points === 0 || (points < 0 && !state.beyond)) return
  const [day, today] = [numberOf(counted, dayWindow), numberOf(state, dayWindow)]
  state.beyond = withPoints(state.beyond, day, points, today)
}

/** Of points of windows that may have ended since. Where the count of a window is gone, the points before them tell. */
function laterBeyond(
  state: Metered,
  counted: Counters,
  points: number,
  included: Included,
): number {
  const day = numberOf(counted, dayWindow)
  const isBeyond = pointsIn(state.beyond, day) > 0
  let beyond = 0
  for (const { window, limit } of limitedIn(included)) {
    const isRunning = numberOf(state, window) === numberOf(counted, window)
    const used = isRunning ? usedIn(state, window) : pointsIn(state.past, day)
    const over = isRunning || window === dayWindow ? used - limit : isBeyond ? points : 0
    beyond = Math.max(beyond, Math.min(points, over))
  }
  return beyond
}
