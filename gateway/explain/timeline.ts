import { randomUUID } from 'node:crypto'
import { breathe } from '../../shared/breathe.ts'
import type { Caller } from '../keys/caller.ts'
import { stateOf } from '../keys/caller.ts'
import { minuteMs } from '../limits/step.ts'
import type { RequestRecord } from '../request-record.ts'
import type { RefusalBatch, RefusedKey, TimelineStore } from './timeline-store.ts'

/** Lines per batch: the gateway serves requests between two batches. */
const batchSize = 100

/** The most lines that wait for the store; further ones are left out during an outage. */
const mostWaiting = 20_000

/** The refusals of one key for one reason in one minute. With a count of 0 it waits for no batch, and may be used anew. */
export type MinuteCount = { -readonly [Member in keyof RefusedKey]: RefusedKey[Member] }

/** The slot that keeps the latest count of a caller between refusals: mostly the next one continues it. */
export type MinuteSlot = { minuteCount: MinuteCount | undefined }

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
    let counted = slot.minuteCount
    if (!counted || !isOf(counted, minute, code, reason)) {
      if (counted?.count !== 0) counted = undefined
      counted = this.#begin(counted, caller.id, minute, code, reason)
      slot.minuteCount = counted
    } else if (counted.count === 0) this.#wait(counted)
    counted.count++
    if (!standing || (reason !== 'minute' && reason !== 'day')) return
    const { decision, limits } = standing
    counted.limit = reason === 'minute' ? limits.perMinute : limits.perDay
    counted.used = reason === 'minute' ? decision.minuteUsed : decision.dayUsed
  }

  /** Adds all counts to the store. If that fails, they are kept for the next time, and it rejects. */
  async write(): Promise<void> {
    while (this.#unconfirmed || this.#waiting.length > 0) {
      this.#unconfirmed ??= this.#nextBatch()
      await this.#store.add(this.#unconfirmed)
      this.#unconfirmed = undefined
      await breathe()
    }
  }

  /** Begins a count, in the place of one that isn't waiting if there is one: a new object for each would be garbage. */
  #begin(
    counted: MinuteCount | undefined,
    key: string,
    minute: number,
    code: string,
    reason: string,
  ): MinuteCount {
    if (!counted) counted = { key, minute, code, reason, count: 0, limit: 0, used: 0 }
    else Object.assign(counted, { minute, code, reason, limit: 0, used: 0 })
    this.#wait(counted)
    return counted
  }

  #wait(counted: MinuteCount): void {
    if (this.#waiting.length < mostWaiting) this.#waiting.push(counted)
  }

  #nextBatch(): RefusalBatch {
    const counts = this.#waiting.splice(0, batchSize)
    const refusals = counts.map((counted) => ({ ...counted }))
    for (const counted of counts) counted.count = 0
    return { by: this.#id, number: ++this.#batches, refusals }
  }
}

function isOf(counted: MinuteCount, minute: number, code: string, reason: string): boolean {
  return counted.minute === minute && counted.reason === reason && counted.code === code
}
