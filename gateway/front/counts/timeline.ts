import { isWindowName, windowOf } from '../../../shared/windows.ts'
import { limitOf } from '../limits/limits.ts'
import { usedBy } from '../limits/step.ts'
import { randomUUID } from 'node:crypto'
import { breathe } from '../../../shared/breathe.ts'
import type { Caller } from '../keys/caller.ts'
import { stateOf } from '../keys/caller.ts'
import { minuteMs } from '../../../shared/windows.ts'
import type { RequestRecord } from '../request-record.ts'
import type { RefusalBatch, TimelineStore } from './timeline-store.ts'
import type { MinuteCount } from '../keys/slots.ts'

/** Lines per batch: the gateway serves requests between two batches. */
const batchSize = 100

/** The most lines that wait for the store; further ones are left out during an outage. */
const mostWaiting = 20_000

/** Counts by minute why keys were refused, in memory; its counts are written together with the tallies of usage. */
export class Timeline {
  readonly #store: TimelineStore
  readonly #id = randomUUID()
  #waiting: MinuteCount[] = []
  #batches = 0
  /** The batch that the store hasn't confirmed. */
  #unconfirmed: RefusalBatch | undefined

  constructor(store: TimelineStore) {
    this.#store = store
  }

  /** Counts the refusal of a request with a known key. */
  count(caller: Caller, record: RequestRecord, nowMs: number): void {
    const { refusal, standing } = record
    if (!refusal) return
    const { code, reason = code } = refusal
    const slot = stateOf(caller)
    const minute = Math.floor(nowMs / minuteMs)
    const latest = slot.minuteCount
    let counted = latest
    while (counted?.minute === minute && (counted.reason !== reason || counted.code !== code)) {
      counted = counted.next
    }
    if (counted?.minute !== minute) {
      // Counts of an earlier minute are dropped together.
      const next = latest?.minute === minute ? latest : undefined
      const about = { key: caller.id, minute, code, reason }
      counted = { ...about, count: 0, limit: 0, used: 0, next }
      slot.minuteCount = counted
    }
    if (counted.count === 0) this.#wait(counted)
    counted.count++
    if (!standing || !isWindowName(reason)) return
    const window = windowOf(reason)
    counted.limit = limitOf(standing.limits, window)
    counted.used = usedBy(standing.decision, window)
  }

  /**
   * Adds the counts so far to the store. If that fails, they are kept for the next time, and it rejects. Counts that come
   * meanwhile wait for the next time: a key that is refused again and again would never let it end.
   */
  async write(): Promise<void> {
    const counts = this.#waiting
    this.#waiting = []
    let done = 0
    try {
      while (this.#unconfirmed || done < counts.length) {
        if (!this.#unconfirmed) {
          this.#unconfirmed = this.#batchOf(counts.slice(done, done + batchSize))
          done += batchSize
        }
        await this.#store.add(this.#unconfirmed)
        this.#unconfirmed = undefined
        await breathe()
      }
    } finally {
      if (done < counts.length) this.#waiting = [...counts.slice(done), ...this.#waiting]
    }
  }

  #wait(counted: MinuteCount): void {
    if (this.#waiting.length < mostWaiting) this.#waiting.push(counted)
  }

  #batchOf(counts: readonly MinuteCount[]): RefusalBatch {
    const refusals = counts.map(({ key, minute, code, reason, count, limit, used }) => {
      return { key, minute, code, reason, count, limit, used }
    })
    for (const counted of counts) counted.count = 0
    return { by: this.#id, number: ++this.#batches, refusals }
  }
}
