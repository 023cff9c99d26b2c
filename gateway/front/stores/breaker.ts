import { later, type Clock, type Later } from '../../../shared/clock.ts'
import { StoreNotAsked, type StoreUnavailable } from '../../../shared/store-errors.ts'

/** How many failures in a row are taken for an outage. */
const mostFailures = 3

/** How often an outage is probed, and how many probes in a row must succeed to end it. */
const probeEveryMs = 250
const enoughProbes = 2

/** The times of a breaker; a simulation passes its own. */
export type BreakerTimes = Readonly<{ ticks: Clock; later: Later; random: () => number }>

const timesHere: BreakerTimes = { ticks: () => performance.now(), later, random: Math.random }

/**
 * Ends waiting for a store during an outage. After a few failures in a row every question fails at
 * once, and one probe per process finds out when the outage is over. The probe should write: a Redis
 * that is full, or a replica, still answers reads.
 */
export class Breaker {
  readonly #probe: () => Promise<unknown>
  readonly #times: BreakerTimes
  #failures = 0
  #lastFailureMs = 0
  #passed = 0
  #endWait: (() => void) | undefined
  #isClosed = false
  #cause: unknown
  readonly #listeners = new Set<(cause: Error | undefined) => void>()

  constructor(probe: () => Promise<unknown>, times = timesHere) {
    this.#probe = probe
    this.#times = times
  }

  /** Throws during an outage; else gives the time of the question, for `failed`. */
  check(): number {
    if (this.#endWait) {
      throw new StoreNotAsked('the store is out of reach', { cause: this.#cause })
    }
    return this.#times.ticks()
  }

  /** Calls the listener when an outage begins, and with `undefined` when it is over; returns its removal. */
  onChange(listener: (cause: Error | undefined) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  worked(): void {
    this.#failures = 0
  }

  /** A question of that time has failed. Questions asked before the last failure don't count again. */
  failed(error: StoreUnavailable, askedAtMs: number): void {
    if (askedAtMs < this.#lastFailureMs || this.#endWait) return
    this.#lastFailureMs = this.#times.ticks()
    if (++this.#failures < mostFailures) return
    this.#cause = error
    this.#plan()
    this.#listeners.forEach((tell) => tell(error))
  }

  close(): void {
    this.#isClosed = true
    this.#endWait?.()
  }

  #plan(): void {
    if (this.#isClosed) return
    const { later, random } = this.#times
    this.#endWait = later(() => void this.#look(), probeEveryMs * (0.75 + random() / 2))
  }

  async #look(): Promise<void> {
    try {
      await this.#probe()
      this.#passed++
    } catch (error) {
      this.#cause = error
      this.#passed = 0
    }
    if (this.#passed < enoughProbes) return this.#plan()
    this.#endWait = undefined
    this.#passed = 0
    this.#failures = 0
    this.#listeners.forEach((tell) => tell(undefined))
  }
}
