import type { Caller } from '../keys/caller.ts'
import { stateOf } from '../keys/caller.ts'
import type { Standing } from '../limits/headers.ts'
import type { NearSlot } from '../keys/slots.ts'

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

  /** Notes a decision; `refusedBy` is the window that refused the request. */
  note(
    caller: Caller,
    { decision, limits }: Standing,
    refusedBy: 'minute' | 'day' | undefined,
  ): void {
    if (decision.dayUsed * whole < this.#first * limits.perDay && refusedBy !== 'day') return
    this.#noteNear(caller, { decision, limits }, refusedBy === 'day')
  }

  #noteNear(caller: Caller, { decision, limits }: Standing, isRefused: boolean): void {
    const { verdict, cost, dayUsed, seen, decidedBy } = decision
    if (decidedBy !== 'store') return
    const slot: NearSlot = stateOf(caller)
    if (slot.nearDay !== seen.day) {
      slot.nearDay = seen.day
      slot.nearLevel = 0
    }
    const before = verdict === 'admitted' ? dayUsed - cost : dayUsed
    const knownLevel = slot.nearLevel
    slot.nearLevel = 0
    for (const [i, percent] of this.#percents.entries()) {
      const bound = percent * limits.perDay
      if (dayUsed * whole < bound && !(isRefused && percent === whole)) return
      slot.nearLevel = i + 1
      const crosses = before * whole < bound && dayUsed * whole >= bound
      if (crosses || i >= knownLevel) this.#reached({ caller, decision, limits, percent, crosses })
    }
  }
}
