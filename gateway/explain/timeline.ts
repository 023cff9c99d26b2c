import { randomUUID } from 'node:crypto'
import { breathe } from '../../shared/breathe.ts'
import type { Caller } from '../keys/caller.ts'
import { stateOf } from '../keys/caller.ts'
import { minuteMs } from '../limits/step.ts'
import type { RequestRecord } from '../request-record.ts'
import type { RefusalBatch, RefusedKey, TimelineStore } from './timeline-store.ts'

/** The time between two additions to the store: a crash loses the counts since the last one. */
const everyMs = 4_000

/** Lines per batch: the gateway serves requests between two batches. */
const batchSize = 100

/** The most lines that wait for the store; further ones are left out during an outage. */
const mostWaiting = 20_000

export type TimelineOptions = Readonly<{
  store: TimelineStore
  /** Called when adding begins to fail, and with `undefined` when it works again. */
  trouble: (error: Error | undefined) => void
}>

/** The refusals of one key for one reason in one minute. With a count of 0 it waits for no batch, and may be used anew. */
export type MinuteCount = { -readonly [Member in keyof RefusedKey]: RefusedKey[Member] }

/** The slot that keeps the latest count of a caller between refusals: mostly the next one continues it. */
export type MinuteSlot = { minuteCount: MinuteCount | undefined }

/** Counts by minute why keys were refused, in memory, and adds the counts to the store from time to time. */
export class Timeline {
  readonly #options: TimelineOptions
  readonly #timer: NodeJS.Timeout
  readonly #id = randomUUID()
  #waiting: MinuteCount[] = []
  #batches = 0
  /** The batch that the store hasn't confirmed. */
  #unconfirmed: RefusalBatch | undefined
  #adding: Promise<void> = Promise.resolve()
  #isFailing = false

  constructor(options: TimelineOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.flush(), everyMs)
    this.#timer.unref()
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

  /** Adds all counts to the store; resolves when they are stored, or when that has failed for now. */
  flush(): Promise<void> {
    this.#adding = this.#adding.then(() => this.#add())
    return this.#adding
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
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

  async #add(): Promise<void> {
    try {
      while (this.#unconfirmed || this.#waiting.length > 0) {
        this.#unconfirmed ??= this.#nextBatch()
        await this.#options.store.add(this.#unconfirmed)
        this.#unconfirmed = undefined
        await breathe()
      }
      if (this.#isFailing) this.#options.trouble(undefined)
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#options.trouble(error as Error)
      this.#isFailing = true
    }
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
