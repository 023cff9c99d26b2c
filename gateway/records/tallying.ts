import { randomUUID } from 'node:crypto'
import type { Clock } from '../../shared/clock.ts'
import { dayMs } from '../limits/step.ts'
import type { Tally, TallyStore } from '../stores/tallies.ts'

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

/**
 * What one key does in one way. It is kept from one time to the next, as it mostly goes on: forgotten
 * whenever it paused, 100,000 keys left 500 bytes a request for the full collections.
 */
type Doing = {
  readonly key: string
  readonly what: string
  count: number
  lastMs: number | undefined
  /** Whether it was counted since the last tidying. */
  isUsed: boolean
  /** What else the same key does. */
  readonly next: Doing | undefined
}

/** What keys did on one day. */
class Day {
  readonly number: number
  readonly #doings = new Map<string, Doing>()
  /** In the order of keys when they are taken, so that a store in a file writes few pages a batch. */
  #all: Doing[] = []
  #isSorted = true

  constructor(number: number) {
    this.number = number
  }

  get(key: string, what: string): Doing | undefined {
    let doing = this.#doings.get(key)
    while (doing && doing.what !== what) doing = doing.next
    return doing
  }

  add(key: string, what: string): Doing {
    const next = this.#doings.get(key)
    const doing = { key, what, count: 0, lastMs: undefined, isUsed: true, next }
    this.#doings.set(key, doing)
    this.#all.push(doing)
    this.#isSorted = false
    return doing
  }

  /** Takes what was counted, a batch at a time: made all at once, 100,000 of them would outlive many requests. */
  *take(): Generator<Batch> {
    let tallies: Tally[] = []
    // What was sorted before and what came since: V8 sorts such in one pass.
    if (!this.#isSorted) this.#all.sort((a, b) => (a.key < b.key ? -1 : 1))
    this.#isSorted = true
    for (const doing of this.#all) {
      const { key, what, count, lastMs } = doing
      if (count === 0) continue
      tallies.push({ day: this.number, key, what, count, lastMs: lastMs ?? 0 })
      doing.count = 0
      if (tallies.length < batchSize) continue
      yield { id: randomUUID(), tallies }
      tallies = []
    }
    if (tallies.length > 0) yield { id: randomUUID(), tallies }
  }

  /** Makes room where keys have done nothing since it was last done, if there are so many that it matters. */
  tidy(): void {
    if (this.#all.length > mostIdle) {
      for (const [key, first] of this.#doings) if (isIdle(first)) this.#doings.delete(key)
      this.#all = this.#all.filter(({ key }) => this.#doings.has(key))
    }
    for (const doing of this.#all) doing.isUsed = false
  }
}

function isIdle(first: Doing): boolean {
  for (let each: Doing | undefined = first; each; each = each.next) {
    if (each.isUsed || each.count > 0) return false
  }
  return true
}

/** Counts what keys do in this process's memory, and adds it to the store once in a while. */
export class Tallying {
  readonly #options: TallyingOptions
  readonly #timer: NodeJS.Timeout
  #today = new Day(0)
  /** Days that are over, but not in the store yet. */
  #before: Day[] = []
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

  /** A key has done something; whether it matters when it did so last. */
  count(key: string, what: string, isDated = false): void {
    const nowMs = this.#options.clock()
    const day = Math.floor(nowMs / dayMs)
    if (day !== this.#today.number) {
      this.#before.push(this.#today)
      this.#today = new Day(day)
    }
    let doing = this.#today.get(key, what)
    if (!doing || doing.count === 0) {
      if (this.#size >= mostWaiting) return
      this.#size++
      doing ??= this.#today.add(key, what)
    }
    doing.count++
    doing.isUsed = true
    if (isDated) doing.lastMs = nowMs
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

  /** What waits, the oldest first. */
  *#batches(): Generator<Batch> {
    // It may have been added nevertheless, so it is handed in again as it is, by the same id.
    if (this.#handedIn) yield this.#handedIn
    for (let day = this.#before[0]; day; day = this.#before[0]) {
      yield* day.take()
      this.#before.shift()
    }
    const today = this.#today
    yield* today.take()
    today.tidy()
  }

  async #add(): Promise<void> {
    try {
      for (const batch of this.#batches()) {
        this.#handedIn = batch
        await this.#options.store.add(batch.id, batch.tallies)
        this.#handedIn = undefined
        this.#size -= batch.tallies.length
        await new Promise((resolve) => void setImmediate(resolve))
      }
      if (this.#isFailing) this.#options.trouble(undefined)
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#options.trouble(error as Error)
      this.#isFailing = true
    }
  }
}
