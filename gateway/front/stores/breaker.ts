import { StoreNotAsked, type StoreUnavailable } from '../../../shared/store-errors.ts'

/** How many failures in a row are taken for an outage. */
const mostFailures = 3

/** How often an outage is probed, and how many probes in a row must succeed to end it. */
const probeEveryMs = 250
const enoughProbes = 2

/**
 * Ends waiting for a store during an outage. After a few failures in a row every question fails at
 * once, and one probe per process finds out when the outage is over. The probe should write: a Redis
 * that is full, or a replica, still answers reads.
 */
export class Breaker {
  readonly #probe: () => Promise<unknown>
  #failures = 0
  #lastFailureMs = 0
  #passed = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #cause: unknown
  readonly #listeners = new Set<(cause: Error | undefined) => void>()

  constructor(probe: () => Promise<unknown>) {
    this.#probe = probe
  }

  /** Throws during an outage; else gives the time of the question, for `failed`. */
  check(): number {
    if (this.#timer) {
      throw new StoreNotAsked('the store is out of reach', { cause: this.#cause })
    }
    return performance.now()
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
    if (askedAtMs < this.#lastFailureMs || this.#timer) return
    this.#lastFailureMs = performance.now()
    if (++this.#failures < mostFailures) return
    this.#cause = error
    this.#plan()
    this.#listeners.forEach((tell) => tell(error))
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #plan(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#look(), probeEveryMs * (0.75 + Math.random() / 2))
    this.#timer.unref()
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
    this.#timer = undefined
    this.#passed = 0
    this.#failures = 0
    this.#listeners.forEach((tell) => tell(undefined))
  }
}
