import { randomUUID } from 'node:crypto'
import type { Clock } from '../shared/clock.ts'
import type { Tally, TallyStore } from './stores/tallies.ts'

const dayMs = 86_400_000

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

type Counted = { count: number; lastMs: number }
type Batch = Readonly<{ id: string; tallies: readonly Tally[] }>

/** Counts what keys do in this process's memory, and adds it to the store once in a while. */
export class Tallying {
  readonly #options: TallyingOptions
  readonly #timer: NodeJS.Timeout
  /** What was counted on the running day, by key and by what was done. */
  #counted = new Map<string, Map<string, Counted>>()
  #day = 0
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
    let ofKey = this.#counted.get(key)
    if (!ofKey) {
      if (this.#size >= mostWaiting) return
      ofKey = new Map<string, Counted>()
      this.#counted.set(key, ofKey)
    }
    const counted = ofKey.get(what)
    if (counted) {
      counted.count++
      if (isDated) counted.lastMs = nowMs
    } else if (this.#size < mostWaiting) {
      this.#size++
      ofKey.set(what, { count: 1, lastMs: isDated ? nowMs : 0 })
    }
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
    // In the order of keys, so that a store in a file writes few pages a batch.
    const sorted = [...this.#counted].sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [key, whats] of sorted) {
      for (const [what, counted] of whats) {
        tallies.push({ day: this.#day, key, what, ...counted })
        if (tallies.length === batchSize) full()
      }
    }
    full()
    this.#counted = new Map()
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
