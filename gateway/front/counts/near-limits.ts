import type { Caller } from '../keys/caller.ts'
import { numberOf } from '../limits/counters.ts'
import type { Standing } from '../limits/headers.ts'
import { limitOf } from '../limits/limits.ts'
import { toldOfEnd } from '../limits/near.ts'
import { usedBy } from '../limits/step.ts'
import type { Window } from '../../../shared/windows.ts'
import { countsOf, type NearLevel } from './caller-counts.ts'
import type { Used } from './ended.ts'

/** The whole limit, as a percentage. */
export const whole = 100

/** A quota of which a window has come to a percentage of its limit. */
export type NearLimit = Standing &
  Readonly<{
    caller: Caller
    window: Window
    percent: number
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

  constructor(reached: (near: NearLimit) => void) {
    this.#reached = reached
  }

  /** Watches these percentages from now on, which rise; 100 is the limit itself. */
  watch(percents: readonly number[]): void {
    this.#percents = percents
    this.#first = percents[0] ?? Infinity
  }

  count({ caller, standing, refusedBy }: Used): void {
    for (const window of toldOfEnd) {
      const isRefused = refusedBy === window.name
      const bound = this.#first * limitOf(standing.limits, window)
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
    const [limit, used] = [limitOf(limits, window), usedBy(decision, window)]
    const before = verdict === 'admitted' ? used - cost : used
    let level = 0
    for (const [i, percent] of this.#percents.entries()) {
      const bound = percent * limit
      if (used * whole < bound && !(isRefused && percent === whole)) break
      level = i + 1
      const crosses = before * whole < bound && used * whole >= bound
      if (crosses || i >= knownLevel) {
        this.#reached({ caller, decision, limits, window, percent, crosses })
      }
    }
    levels.set(window, { number, level })
  }
}
