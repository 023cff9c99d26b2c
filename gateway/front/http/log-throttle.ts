import type { Clock } from '../../../shared/clock.ts'
import { BoundedMap } from '../../../shared/bounded-map.ts'

/** The least number of names that are remembered. */
const leastNames = 1_000

type Latest = { atMs: number; droppedLines: number }

/** Limits repeated log lines to one per name (an address, a key) and interval. */
export class LogThrottle {
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #latestByName = new BoundedMap<Latest>(leastNames)

  constructor(clock: Clock, everyMs = 1_000) {
    this.#clock = clock
    this.#everyMs = everyMs
  }

  /** Decides about a line: the number of lines left out before it, or `undefined` to leave it out as well. */
  take(name: string): number | undefined {
    const nowMs = this.#clock()
    const latest = this.#latestByName.get(name)
    if (latest && nowMs - latest.atMs < this.#everyMs) {
      latest.droppedLines++
      return undefined
    }
    this.#latestByName.set(name, { atMs: nowMs, droppedLines: 0 })
    return latest?.droppedLines ?? 0
  }
}
