import type { Caller } from '../keys/caller.ts'
import { numberOf } from '../limits/counters.ts'
import type { Standing } from '../limits/headers.ts'
import { includedPoints } from '../limits/beyond.ts'
import { limitOf, type Limits } from '../limits/limits.ts'
import { leftIn } from '../limits/purse.ts'
import { usedBy, type Decision } from '../limits/step.ts'
import { longWindows, type Window } from '../../../shared/windows.ts'
import { countsOf, type NearLevel } from './caller-counts.ts'
import type { Used } from './ended.ts'

/** The part of the last top-up, one in so many, from which on little is left. */
const purseLowAt = 5

/** The whole limit, as a percentage. */
export const whole = 100

/** A quota of which a window has come to a percentage of its limit, or beyond what is included; or hardly any bought points are left. */
export type NearLimit = Standing &
  Readonly<{
    caller: Caller
    window: Window
    /**
     * A percentage of what is included, of the limit for the whole. `beyond`: the first points that aren't included. `low`: a
     * fifth of the last top-up is left; `empty`: nothing that was bought.
     */
    percent: number | 'beyond' | 'low' | 'empty'
    /** The points of which it is a percentage, or those of the last top-up. */
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
  #tellsPurse = false

  constructor(reached: (near: NearLimit) => void) {
    this.#reached = reached
  }

  /** Watches these percentages from now on, which rise; 100 is the limit itself. */
  watch(percents: readonly number[], tellsBeyond = false, tellsPurse = false): void {
    this.#percents = percents
    this.#first = Math.min(percents[0] ?? Infinity, tellsBeyond ? whole : Infinity)
    this.#tellsBeyond = tellsBeyond
    this.#tellsPurse = tellsPurse
  }

  count({ caller, standing, refusedBy }: Used): void {
    if (this.#tellsPurse && standing.decision.purse) this.#notePurse(caller, standing)
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

  /** Says once a top-up, and its caller, that hardly anything of it is left, and that nothing is. */
  #notePurse(caller: Caller, { decision, limits }: Standing): void {
    const { purse, decidedBy } = decision
    if (!purse || purse.topUps === 0 || decidedBy !== 'store') return
    const { topUps: number, last: limit, window } = purse
    const left = leftIn(purse)
    const level = left <= 0 ? 2 : left * purseLowAt <= limit ? 1 : 0
    const counts = countsOf(caller)
    const known = counts.purseLevel?.number === number ? counts.purseLevel.level : 0
    if (level <= known) return
    counts.purseLevel = { number, level }
    const percent = level === 2 ? 'empty' : 'low'
    this.#reached({ caller, decision, limits, window, percent, limit, crosses: true })
  }

  /** The bounds of a window, rising, as a hundred times their points. */
  #boundsOf(decision: Decision, limits: Limits, window: Window) {
    const included = includedPoints(decision, limits, window)
    const most = limitOf(limits, window)
    // What was bought refuses nobody, until nothing of it is left.
    const isPrepaid = decision.purse?.window === window
    const beyond =
      this.#tellsBeyond && included < most && !isPrepaid
        ? [{ percent: 'beyond' as const, limit: included, bound: (included + 1) * whole }]
        : []
    const [near, full] = [
      this.#percents.filter((percent) => percent < whole && included > 0),
      this.#percents.filter((percent) => percent === whole && most < Infinity && !isPrepaid),
    ]
    return [
      ...near.map((percent) => ({ percent, limit: included, bound: percent * included })),
      ...beyond,
      ...full.map((percent) => ({ percent, limit: most, bound: percent * most })),
    ]
  }
}
