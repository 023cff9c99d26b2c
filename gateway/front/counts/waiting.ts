import { randomUUID } from 'node:crypto'
import { breathe } from '../../../shared/breathe.ts'
import { sortedBy } from '../../../shared/in-order.ts'
import type { Batch } from '../shelves/counts.ts'

/**
 * A store to which any number of gateways add their counts from time to time. No request waits for it.
 *
 * A store that can't be asked at the moment rejects with `StoreUnavailable`. It may have added part of the batch, so
 * the gateway hands the same batch in again.
 */
export interface CountStore<Line> {
  /** Adds a batch. What was added already of one with a known number of `by` is ignored. */
  add(batch: Batch<Line>): Promise<void>
}

/** A count in memory that goes on with the next request; the store hears of it when it waits. */
export type Waits = { isWaiting: boolean }

export type WaitingOptions<Count, Line> = Readonly<{
  /** The most counts that wait for the store during an outage. */
  most: number
  /** Lines per batch: the gateway serves requests between two batches. */
  batchSize: number
  /** Takes what was counted out of a count, which begins again. */
  take: (count: Count) => Line
  /** Adds a batch to the store, which ignores one that it has already. */
  add: (batch: Batch<Line>) => Promise<void>
  /** Puts counts in the order of a text, so that a store in a file writes few pages per batch. */
  orderBy?: (count: Count) => string
}>

/** The counts that wait for a store. They are objects that outlive many requests, because new ones cost full collections. */
export class Waiting<Count extends Waits, Line> {
  readonly #options: WaitingOptions<Count, Line>
  readonly #by = randomUUID()
  #counts: Count[] = []
  /** The number of counts that wait or are unconfirmed. */
  #size = 0
  #batches = 0
  /** The batch that the store hasn't confirmed. It may have added it already, so it is repeated unchanged. */
  #unconfirmed: Batch<Line> | undefined

  constructor(options: WaitingOptions<Count, Line>) {
    this.#options = options
  }

  /** Lets a count wait, before something is added to it; `false` if too many do. */
  wait(count: Count): boolean {
    if (count.isWaiting) return true
    if (this.#size >= this.#options.most) return false
    this.#size++
    count.isWaiting = true
    this.#counts.push(count)
    return true
  }

  /**
   * Adds the counts so far to the store. If that fails, they are kept for the next time, and it rejects. Counts that come
   * meanwhile wait for the next time: a key that is busy again and again would never let it end.
   */
  async write(): Promise<void> {
    const { batchSize, add, orderBy } = this.#options
    const coming = this.#counts
    this.#counts = []
    const counts = orderBy ? await sortedBy(coming, orderBy) : coming
    let done = 0
    try {
      while (this.#unconfirmed || done < counts.length) {
        if (!this.#unconfirmed) {
          this.#unconfirmed = this.#batchOf(counts.slice(done, done + batchSize))
          done += batchSize
        }
        await add(this.#unconfirmed)
        this.#size -= this.#unconfirmed.lines.length
        this.#unconfirmed = undefined
        await breathe()
      }
    } finally {
      if (done < counts.length) this.#counts = [...counts.slice(done), ...this.#counts]
    }
  }

  #batchOf(counts: readonly Count[]): Batch<Line> {
    const lines = counts.map(this.#options.take)
    for (const count of counts) count.isWaiting = false
    return { by: this.#by, number: ++this.#batches, lines }
  }
}
