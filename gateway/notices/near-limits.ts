import type { Caller } from '../keys/caller.ts'
import { stateOf } from '../keys/caller.ts'
import type { Standing } from '../limits/headers.ts'
import { dayMs } from '../limits/step.ts'
import { noticedKey, noticeOf } from './notice.ts'
import type { Outbox } from './outbox.ts'

/** The whole limit, as a percentage. */
const whole = 100

/** The part of a caller's state that says how much of a day was told. */
export type NearSlot = { nearDay: number; nearLevel: number }

/**
 * Tells when the day of a quota is nearly used up, and when it is. A request below the first percentage costs one
 * comparison.
 */
export class NearLimits {
  readonly #outbox: Outbox
  /** The percentages that are told, rising. */
  #levels: readonly number[] = []
  #first = Infinity

  constructor(outbox: Outbox) {
    this.#outbox = outbox
  }

  /** Tells of these percentages from now on, and of the limit itself. */
  change(percents: readonly number[]): void {
    const near = this.#outbox.wants('key.near_limit') ? percents : []
    const full = this.#outbox.wants('key.limit_reached') ? [whole] : []
    this.#levels = [...near.filter((percent) => percent < whole), ...full]
    this.#first = this.#levels[0] ?? Infinity
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
    const toldLevel = slot.nearLevel
    slot.nearLevel = 0
    for (const [i, percent] of this.#levels.entries()) {
      const bound = percent * limits.perDay
      if (dayUsed * whole < bound && !(isRefused && percent === whole)) return
      slot.nearLevel = i + 1
      const crosses = before * whole < bound && dayUsed * whole >= bound
      if (crosses || i >= toldLevel) this.#tell(caller, { decision, limits }, percent, crosses)
    }
  }

  /**
   * Only one request of the fleet crosses a percentage of a limit. Its notice is told once a day, quota, percentage and
   * limit. A gateway that finds a percentage crossed tells of it as well, in case the one that saw it is gone: that yields
   * to any notice of the same percentage and day.
   */
  #tell(caller: Caller, { decision, limits }: Standing, percent: number, crosses: boolean): void {
    const { id, name, account, isTest: test, plan, quota } = caller
    const { day } = decision.seen
    const data = {
      key: noticedKey({ id, name, account, test }),
      ...{ plan, window: 'day', percent, limit: limits.perDay, used: decision.dayUsed },
      resetsAt: new Date((day + 1) * dayMs).toISOString(),
    }
    const type = percent === whole ? 'key.limit_reached' : 'key.near_limit'
    const about = [quota, day, percent]
    const event = { type, parts: [...about, limits.perDay], atMs: decision.nowMs, data } as const
    this.#outbox.add(noticeOf(event, { mark: about.join(' '), yields: !crosses }))
  }
}
