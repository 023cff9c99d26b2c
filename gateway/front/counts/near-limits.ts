import type { Caller } from '../keys/caller.ts'
import type { Standing } from '../limits/headers.ts'
import { countsOf } from './caller-counts.ts'
import type { Used } from './ended.ts'

/** The whole limit, as a percentage. */
export const whole = 100

/** A quota whose day has come to a percentage of its limit. */
export type NearLimit = Standing &
  Readonly<{
    caller: Caller
    percent: number
    /** Whether this request has crossed the percentage: only one request of the fleet does. */
    crosses: boolean
  }>

/**
 * Finds out when the day of a quota is nearly used up, and when it is. A request below the first percentage costs one
 * comparison. A gateway that finds a percentage crossed by another one tells of it as well, in case that one is gone.
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
    const { decision, limits } = standing
    if (decision.dayUsed * whole < this.#first * limits.perDay && refusedBy !== 'day') return
    this.#noteNear(caller, standing, refusedBy === 'day')
  }

  #noteNear(caller: Caller, { decision, limits }: Standing, isRefused: boolean): void {
    const { verdict, cost, dayUsed, seen, decidedBy } = decision
    if (decidedBy !== 'store') return
    const counts = countsOf(caller)
    if (counts.nearDay !== seen.day) {
      counts.nearDay = seen.day
      counts.nearLevel = 0
    }
    const before = verdict === 'admitted' ? dayUsed - cost : dayUsed
    const knownLevel = counts.nearLevel
    counts.nearLevel = 0
    for (const [i, percent] of this.#percents.entries()) {
      const bound = percent * limits.perDay
      if (dayUsed * whole < bound && !(isRefused && percent === whole)) return
      counts.nearLevel = i + 1
      const crosses = before * whole < bound && dayUsed * whole >= bound
      if (crosses || i >= knownLevel) this.#reached({ caller, decision, limits, percent, crosses })
    }
  }
}
