import { randomUUID } from 'node:crypto'
import { breathe } from '../../shared/breathe.ts'
import type { Clock } from '../../shared/clock.ts'
import { dayMs } from '../limits/step.ts'
import type { Tally, TallyStore } from './tally-store.ts'

/** How often what has come together is added to the store: a crash loses that much of it. */
const everyMs = 4_000

/** How many tallies are handed over at once: requests are served in between. */
const batchSize = 250

/** How many are kept for keys that have paused; beyond, they are forgotten until they go on. */
const mostIdle = 100_000

/** How many different tallies wait for the store at most, while it is out of reach. */
const mostWaiting = 200_000

export type TallyingOptions = Readonly<{
  store: TallyStore
  clock: Clock
  /** Told when adding begins to fail, and when it works again. */
  trouble: (error: Error | undefined) => void
}>

type Batch = Readonly<{ id: string; tallies: readonly Tally[] }>

/** How often one key has done one thing on one day. */
export type DayCount = {
  readonly key: string
  readonly what: string
  /** `forgotten` where it paused for so long that it is not looked at any more. */
  day: number
  count: number
  lastMs: number | undefined
  /** Another count of the same key and day. */
  readonly next: DayCount | undefined
}

/** Where the latest count of a key is kept from one request to the next: mostly it is the one to go on with. */
export type CountSlot = { dayCount: DayCount | undefined }

const forgotten = -1

/** Counts what keys do in this process's memory, and adds it to the store once in a while. */
export class Tallying {
  readonly #options: TallyingOptions
  readonly #timer: NodeJS.Timeout
  /** In the order of keys when they are taken, so that a store in a file writes few pages a batch. */
  #all: DayCount[] = []
  #isSorted = true
  /** What was handed in, and is not known to have been added. */
  #handedIn: Batch | undefined
  /** How many tallies are counted or handed in. */
  #size = 0
  #adding: Promise<void> = Promise.resolve()
  #isFailing = false

  constructor(options: TallyingOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.flush(), everyMs)
    this.#timer.unref()
  }

  /** Counts one thing that a key has done; `isDated` if it matters when it did so last. */
  count(key: string, slot: CountSlot, what: string, isDated = false): void {
    const nowMs = this.#options.clock()
    const day = Math.floor(nowMs / dayMs)
    let counted = slot.dayCount
    while (counted && counted.day === day && counted.what !== what) counted = counted.next
    if (counted?.day !== day || counted.count === 0) {
      if (this.#size >= mostWaiting) return
      this.#size++
    }
    if (counted?.day !== day) {
      // Counts that are forgotten or of another day are left behind, with all that hang on them.
      counted = this.#begin(key, what, day, counted ? undefined : slot.dayCount)
      slot.dayCount = counted
    }
    counted.count++
    if (isDated) counted.lastMs = nowMs
  }

  /** Adds what waits; resolves when it is in the store, or has to wait for longer. */
  flush(): Promise<void> {
    this.#adding = this.#adding.then(() => this.#add())
    return this.#adding
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  #begin(key: string, what: string, day: number, next: DayCount | undefined): DayCount {
    const counted = { key, what, day, count: 0, lastMs: undefined, next }
    this.#all.push(counted)
    this.#isSorted = false
    return counted
  }

  /**
   * Takes what was counted, a batch at a time: made all at once, 100,000 tallies would outlive many requests.
   * Forgets who has paused, if there are so many that it matters, and days that are over.
   */
  *#batches(): Generator<Batch> {
    // It may have been added nevertheless, so it is handed in again as it is, by the same id.
    if (this.#handedIn) yield this.#handedIn
    // What was sorted before and what came since: V8 sorts such in one pass.
    if (!this.#isSorted) this.#all.sort(byKey)
    this.#isSorted = true
    const isLong = this.#all.length > mostIdle
    const today = Math.floor(this.#options.clock() / dayMs)
    let someForgotten = false
    let tallies: Tally[] = []
    for (const counted of this.#all) {
      const { key, what, day, count, lastMs } = counted
      if (count > 0) {
        tallies.push({ day, key, what, count, lastMs: lastMs ?? 0 })
        counted.count = 0
      } else if (isLong || day !== today) {
        counted.day = forgotten
        someForgotten = true
      }
      if (tallies.length < batchSize) continue
      yield { id: randomUUID(), tallies }
      tallies = []
    }
    if (tallies.length > 0) yield { id: randomUUID(), tallies }
    if (someForgotten) this.#all = this.#all.filter(({ day }) => day !== forgotten)
  }

  async #add(): Promise<void> {
    try {
      for (const batch of this.#batches()) {
        this.#handedIn = batch
        await this.#options.store.add(batch.id, batch.tallies)
        this.#handedIn = undefined
        this.#size -= batch.tallies.length
        await breathe()
      }
      if (this.#isFailing) this.#options.trouble(undefined)
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#options.trouble(error as Error)
      this.#isFailing = true
    }
  }
}

function byKey(a: DayCount, b: DayCount): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}
