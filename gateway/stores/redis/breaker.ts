/** How many failures in a row are taken for an outage. */
const mostFailures = 3

/** How often an outage is looked at, and how many looks in a row must succeed for its end. */
const probeEveryMs = 250
const enoughProbes = 2

/** What is thrown while an outage is known, instead of asking. */
export class OutageError extends Error {}

/**
 * Knows whether a Redis is worth asking. After a few failures in a row nobody asks any more, so nobody
 * waits; one probe a process finds out when it is over. The probe writes, because a Redis that is full,
 * or a replica, answers everything else.
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

  /** Throws while an outage is known; else gives the time at which somebody asks. */
  check(): number {
    if (this.#timer) throw new OutageError('Redis is out of reach', { cause: this.#cause })
    return performance.now()
  }

  /** Tells when an outage begins, and with `undefined` when it is over; gives what ends that. */
  onChange(listener: (cause: Error | undefined) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  worked(): void {
    this.#failures = 0
  }

  /** What was asked at a time has failed. Of many that fail at one moment, one counts. */
  failed(error: unknown, askedAtMs: number): void {
    if (isOfNames(error) || askedAtMs < this.#lastFailureMs || this.#timer) return
    this.#lastFailureMs = performance.now()
    if (++this.#failures < mostFailures) return
    this.#cause = error
    this.#plan()
    const cause = error instanceof Error ? error : new Error(String(error))
    this.#listeners.forEach((tell) => tell(cause))
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

/** Whether an error tells of the names that were asked for, rather than of a Redis that is in trouble. */
export function isOfNames(error: unknown): boolean {
  return error instanceof Error && /^(?:ERR|WRONGTYPE|CROSSSLOT)\b/.test(error.message)
}
