import type { Clock } from '../../../shared/clock.ts'
import { dayMs } from '../../../shared/windows.ts'
import type { DayCount, DayCounts } from './caller-counts.ts'
import type { Tally, TallyStore } from './tally-store.ts'
import { Waiting } from './waiting.ts'

/** Counts by day what keys do. */
export class Tallies extends Waiting<DayCount, Tally> {
  readonly #clock: Clock

  constructor(store: Pick<TallyStore, 'add'>, clock: Clock) {
    super({
      most: 200_000,
      batchSize: 250,
      take: taken,
      add: (batch) => store.add(batch),
      orderBy: ({ key }) => key,
    })
    this.#clock = clock
  }

  /** Counts one thing that a key has done, or `amount` of it; `isDated` keeps the time of the last one, too. */
  count(key: string, counts: DayCounts, what: string, isDated = false, amount = 1): void {
    const nowMs = this.#clock()
    const day = Math.floor(nowMs / dayMs)
    const { latest } = counts
    let counted = latest
    while (counted?.day === day && counted.what !== what) counted = counted.next
    if (counted?.day !== day) {
      // Counts of another day are dropped together.
      const next = latest?.day === day ? latest : undefined
      counted = { isWaiting: false, key, what, day, count: 0, lastMs: 0, next }
      counts.latest = counted
    }
    if (!this.wait(counted)) return
    counted.count += amount
    if (isDated) counted.lastMs = nowMs
  }
}

function taken(counted: DayCount): Tally {
  const { day, key, what, count, lastMs } = counted
  counted.count = 0
  return { day, key, what, count, lastMs }
}
