import { randomUUID } from 'node:crypto'
import type { Clock } from '../../shared/clock.ts'
import { dayMs } from '../limits/step.ts'
import type { Tally, TallyStore } from '../stores/tallies.ts'

/** How often what has come together is added to the store: a crash loses that much of it. */
const everyMs = 4_000

/** How many tallies are handed over at once: requests are served in between. */
const batchSize = 250

/** How many different tallies wait for the store at most, while it is out of reach. */
const mostWaiting = 200_000

export type TallyingOptions = Readonly<{
  store: TallyStore
  clock: Clock
  /** Told when adding begins to fail, and when it works again. */
  trouble: (error: Error | undefined) => void
}>

type Batch = Readonly<{ id: string; tallies: readonly Tally[] }>

/** What one key has done since it was last written down; kept from one time to the next, as it mostly goes on. */
class Doings {
  readonly key: string
  /** What it has done, how often, and when last. */
  whats: readonly string[] = []
  counts: number[] = []
  lastsMs: number[] = []

  constructor(key: string) {
    this.key = key
  }

  /** The place of something that it has not done before. Whatever else appends makes room for 17, for each key. */
  add(what: string): number {
    this.whats = this.whats.concat(what)
    this.counts = this.counts.concat(0)
    this.lastsMs = this.lastsMs.concat(0)
    return this.whats.length - 1
  }
}

/** Counts what keys do in this process's memory, and adds it to the store once in a while. */
export class Tallying {
  readonly #options: TallyingOptions
  readonly #timer: NodeJS.Timeout
  /** What was counted on the running day. */
  readonly #doings = new Map<string, Doings>()
  /** The same in the order of keys, so that a store in a file writes few pages a batch; none if that has changed. */
  #sorted: readonly Doings[] | undefined
  #day = 0
  /** How many tallies are counted or wait. */
  #size = 0
  #batches: Batch[] = []
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
    if (day !== this.#day) this.#closeDay(day)
    let doings = this.#doings.get(key)
    if (!doings) {
      if (this.#size >= mostWaiting) return
      this.#doings.set(key, (doings = new Doings(key)))
      this.#sorted = undefined
    }
    let place = doings.whats.indexOf(what)
    if (place < 0) place = doings.add(what)
    const before = doings.counts[place] ?? 0
    if (before === 0) this.#size++
    doings.counts[place] = before + 1
    if (isDated) doings.lastsMs[place] = nowMs
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

  /** Makes batches of what was counted on the day that has run; another may begin. */
  #closeDay(next = this.#day): void {
    let tallies: Tally[] = []
    const full = (): void => {
      if (tallies.length > 0) this.#batches.push({ id: randomUUID(), tallies })
      tallies = []
    }
    this.#sorted ??= [...this.#doings.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
    for (const { key, whats, counts, lastsMs } of this.#sorted) {
      let isIdle = true
      for (const [place, count] of counts.entries()) {
        if (count === 0) continue
        isIdle = false
        const lastMs = lastsMs[place] ?? 0
        tallies.push({ day: this.#day, key, what: whats[place] ?? '', count, lastMs })
        counts[place] = 0
        if (tallies.length === batchSize) full()
      }
      if (isIdle) this.#doings.delete(key)
    }
    full()
    if (this.#doings.size < this.#sorted.length) this.#sorted = undefined
    this.#day = next
  }

  async #add(): Promise<void> {
    // What could not be added yet is handed in first, as it was; meanwhile more comes together.
    const isBehind = this.#batches.length > 0
    if (!isBehind) this.#closeDay()
    try {
      for (let batch = this.#batches[0]; batch; batch = this.#batches[0]) {
        await this.#options.store.add(batch.id, batch.tallies)
        this.#batches.shift()
        this.#size -= batch.tallies.length
        await new Promise((resolve) => void setImmediate(resolve))
      }
      if (this.#isFailing) this.#options.trouble(undefined)
      this.#isFailing = false
    } catch (error) {
      // It may have been added nevertheless, so it is handed in again as it is, by the same id.
      if (!this.#isFailing) this.#options.trouble(error as Error)
      this.#isFailing = true
      return
    }
    if (isBehind) await this.#add()
  }
}
