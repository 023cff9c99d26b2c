import { randomUUID } from 'node:crypto'
import type { Clock } from '../shared/clock.ts'
import type { Tally, TallyStore } from './stores/tallies.ts'

const dayMs = 86_400_000

/** How often what has come together is added to the store. */
const everyMs = 1_000

/** How many different tallies wait for the store at most, while it is out of reach. */
const mostWaiting = 100_000

export type TallyingOptions = Readonly<{
  store: TallyStore
  clock: Clock
  /** Told when adding begins to fail, and when it works again. */
  trouble: (error: Error | undefined) => void
}>

type Waiting = { -readonly [Member in keyof Tally]: Tally[Member] }

/** Counts what keys do in this process's memory, and adds it to the store once in a while. */
export class Tallying {
  readonly #options: TallyingOptions
  readonly #timer: NodeJS.Timeout
  #waiting = new Map<string, Waiting>()
  #batch: { id: string; tallies: readonly Tally[] } | undefined
  #adding: Promise<void> = Promise.resolve()
  #isFailing = false

  constructor(options: TallyingOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.flush(), everyMs)
    this.#timer.unref()
  }

  /** A key has done something. */
  count(key: string, what: string): void {
    const nowMs = this.#options.clock()
    const day = Math.floor(nowMs / dayMs)
    const name = `${day} ${key} ${what}`
    const waiting = this.#waiting.get(name)
    if (waiting) {
      waiting.count++
      waiting.lastMs = nowMs
    } else if (this.#waiting.size < mostWaiting) {
      this.#waiting.set(name, { day, key, what, count: 1, lastMs: nowMs })
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

  async #add(): Promise<void> {
    if (!this.#batch && this.#waiting.size > 0) {
      this.#batch = { id: randomUUID(), tallies: [...this.#waiting.values()] }
      this.#waiting = new Map()
    }
    if (!this.#batch) return
    try {
      await this.#options.store.add(this.#batch.id, this.#batch.tallies)
      this.#batch = undefined
      if (this.#isFailing) this.#options.trouble(undefined)
      this.#isFailing = false
    } catch (error) {
      // It may have been added nevertheless, so it is handed in again as it is, by the same id.
      if (!this.#isFailing) this.#options.trouble(error as Error)
      this.#isFailing = true
      return
    }
    if (this.#waiting.size > 0) await this.#add()
  }
}
