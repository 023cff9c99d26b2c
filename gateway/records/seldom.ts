import type { Clock } from '../../shared/clock.ts'
import { BoundedMap } from '../../shared/bounded-map.ts'

/** How many names are told apart for sure. */
const leastNames = 1_000

type Told = { atMs: number; unsaid: number }

/** Lets one line in a while and name (an address, a key) into the log, where nobody needs to hear of each. */
export class Seldom {
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #told = new BoundedMap<Told>(leastNames)

  constructor(clock: Clock, everyMs = 1_000) {
    this.#clock = clock
    this.#everyMs = everyMs
  }

  /** How many lines were left out before this one; `undefined` if it is left out as well. */
  take(name: string): number | undefined {
    const nowMs = this.#clock()
    const told = this.#told.get(name)
    if (told && nowMs - told.atMs < this.#everyMs) {
      told.unsaid++
      return undefined
    }
    this.#told.set(name, { atMs: nowMs, unsaid: 0 })
    return told?.unsaid ?? 0
  }
}
