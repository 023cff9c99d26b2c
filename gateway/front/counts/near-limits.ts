import type { Caller } from '../keys/caller.ts'
import { numberOf } from '../limits/counters.ts'
import type { Standing } from '../limits/headers.ts'
import { includedPoints } from '../limits/beyond.ts'
import { limitOf, type Limits } from '../limits/limits.ts'
import { usedBy, type Decision } from '../limits/step.ts'
import { longWindows, type Window } from '../../../shared/windows.ts'
import { countsOf, type NearLevel } from './caller-counts.ts'
import type { Used } from './ended.ts'

/** The whole limit, as a percentage. */
export const whole = 100

/** A quota of which a window has come to a percentage of its limit, or beyond what is included. */
export type NearLimit = Standing &
  Readonly<{
    caller: Caller
    window: Window
    /** A percentage of what is included, of the limit for the whole; or `beyond`: the first points that aren't included. */
    percent: number | 'beyond'
    /** The points of which it is a percentage. */
    limit: number
    /** Whether this request has crossed the percentage: only one request of the fleet does. */
    crosses: boolean
  }>

/**
 * Finds out when a long window of a quota is nearly used up, and when it is. A request below the first percentage costs
 * one comparison a window. A gateway that finds a percentage crossed by another one tells of it as well, in case that one
 * is gone.
 */
export class NearLimits {
  readonly #reached: (near: NearLimit) => void
  #percents: readonly number[] = []
  #first = Infinity
  #tellsBeyond = false

  constructor(reached: (near: NearLimit) => void) {
    this.#reached = reached
  }

  /** Watches these percentages from now on, which rise; 100 is the limit itself. */
  watch(percents: readonly number[], tellsBeyond = false): void {
    this.#percents = percents
    this.#first = Math.min(percents[0] ?? Infinity, tellsBeyond ? whole : Infinity)
    this.#tellsBeyond = tellsBeyond
  }

  count({ caller, standing, refusedBy }: Used): void {
    // Nobody is told.
    if (this.#first === Infinity) return
    for (const window of longWindows) {
      const isRefused = refusedBy === window.name
      const bound = this.#first * includedPoints(standing.decision, standing.limits, window)
      if (usedBy(standing.decision, window) * whole < bound && !isRefused) continue
      this.#noteNear(caller, standing, window, isRefused)
    }
  }

  #noteNear(
    caller: Caller,
    { decision, limits }: Standing,
    window: Window,
    isRefused: boolean,
  ): void {
    const { verdict, cost, seen, decidedBy } = decision
    if (decidedBy !== 'store') return
    const levels = (countsOf(caller).nearLevels ??= new Map<Window, NearLevel>())
    const number = numberOf(seen, window)
    const last = levels.get(window)
    const knownLevel = last?.number === number ? last.level : 0
    const used = usedBy(decision, window)
    const before = verdict === 'admitted' ? used - cost : used
    let level = 0
    for (const [i, { percent, limit, bound }] of this.#boundsOf(
      decision,
      limits,
      window,
    ).entries()) {
      if (used * whole < bound && !(isRefused && percent === whole)) break
      level = i + 1
      const crosses = before * whole < bound && used * whole >= bound
      if (crosses || i >= knownLevel) {
        this.#reached({ caller, decision, limits, window, percent, limit, crosses })
      }
    }
    levels.set(window, { number, level })
  }

  /** The bounds of a window, rising, as a hundred times their points. */
  #boundsOf(decision: Decision, limits: Limits, window: Window) {
    const included = includedPoints(decision, limits, window)
    const most = limitOf(limits, window)
    const beyond =
      this.#tellsBeyond && included < most
        ? [{ percent: 'beyond' as const, limit: included, bound: (included + 1) * whole }]
        : []
    const [near, full] = [
      this.#percents.filter((percent) => percent < whole),
      this.#percents.filter((percent) => percent === whole && most < Infinity),
    ]
    return [
      ...near.map((percent) => ({ percent, limit: included, bound: percent * included })),
      ...beyond,
      ...full.map((percent) => ({ percent, limit: most, bound: percent * most })),
    ]
  }
}
