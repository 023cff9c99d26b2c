import { randomUUID } from 'node:crypto'
import { breathe } from '../../../shared/breathe.ts'
import type { Clock } from '../../../shared/clock.ts'
import { sortedBy } from '../../../shared/in-order.ts'
import { dayMs } from '../../../shared/windows.ts'
import type { Tally, TallyStore } from './tally-store.ts'
import type { CountSlot, DayCount } from '../keys/slots.ts'

/** The time between two additions to the store: a crash loses the counts since the last one. */
const everyMs = 4_000

/** Tallies per batch: the gateway serves requests between two batches. */
const batchSize = 250

/** The number of counts up to which idle keys are kept. */
const mostCounts = 100_000

/** The most tallies that wait for the store during an outage. */
const mostWaiting = 200_000

export type TallyingOptions = Readonly<{
  store: Pick<TallyStore, 'add'>
  /** Other counts in memory, which are written together with the tallies. */
  beside?: readonly Written[]
  clock: Clock
  /** Called when adding begins to fail, and with `undefined` when it works again. */
  trouble: (error: Error | undefined) => void
}>

/** Counts in memory. `write` adds them to the store; if that fails, it keeps them for the next time and rejects. */
export interface Written {
  write(): Promise<void>
}

type Batch = Readonly<{ id: string; tallies: readonly Tally[] }>

const forgotten = -1

/** Counts the usage of keys in memory, and adds it to the store from time to time. */
export class Tallying {
  readonly #options: TallyingOptions
  readonly #timer: NodeJS.Timeout
  /** Sorted by key before batches are made, so that a store in a file writes few pages per batch. */
  #all: DayCount[] = []
  #isSorted = true
  /** The batch that the store hasn't confirmed. */
  #unconfirmed: Batch | undefined
  /** The number of tallies that are counted or unconfirmed. */
  #size = 0
  #adding: Promise<void> = Promise.resolve()
  #isFailing = false

  constructor(options: TallyingOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.flush(), everyMs)
    this.#timer.unref()
  }

  /** Counts one thing that a key has done, or `amount` of it; `isDated` keeps the time of the last one, too. */
  count(key: string, slot: CountSlot, what: string, isDated = false, amount = 1): void {
    const nowMs = this.#options.clock()
    const day = Math.floor(nowMs / dayMs)
    let counted = slot.dayCount
    while (counted && counted.day === day && counted.what !== what) counted = counted.next
    if (counted?.day !== day || counted.count === 0) {
      if (this.#size >= mostWaiting) return
      this.#size++
    }
    if (counted?.day !== day) {
      // A forgotten count, or one of another day, is dropped together with its list.
      counted = this.#begin(key, what, day, counted ? undefined : slot.dayCount)
      slot.dayCount = counted
    }
    counted.count += amount
    if (isDated) counted.lastMs = nowMs
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

  #begin(key: string, what: string, day: number, next: DayCount | undefined): DayCount {
    const counted = { key, what, day, count: 0, lastMs: undefined, next }
    this.#all.push(counted)
    this.#isSorted = false
    return counted
  }

  /**
   * Makes batches of the counts one at a time: 100,000 tallies made at once would outlive many requests. Forgets
   * counts of past days and, if there are many, of idle keys.
   */
  *#batches(): Generator<Batch> {
    // The store may have added it already, so it is repeated unchanged, with the same id.
    if (this.#unconfirmed) yield this.#unconfirmed
    const isLong = this.#all.length > mostCounts
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
      if (!this.#isSorted) {
        this.#isSorted = true
        const { length } = this.#all
        const sorted = await sortedBy(this.#all, ({ key }) => key)
        // Additions meanwhile follow unsorted.
        this.#all = sorted.concat(this.#all.slice(length))
      }
      for (const batch of this.#batches()) {
        this.#unconfirmed = batch
        await this.#options.store.add(batch.id, batch.tallies)
        this.#unconfirmed = undefined
        this.#size -= batch.tallies.length
        await breathe()
      }
      for (const counts of this.#options.beside ?? []) await counts.write()
      if (this.#isFailing) this.#options.trouble(undefined)
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#options.trouble(error as Error)
      this.#isFailing = true
    }
  }
}
