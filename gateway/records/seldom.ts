import type { Clock } from '../../shared/clock.ts'
import { BoundedMap } from '../bounded-map.ts'

const everyMs = 1_000

/** How many addresses are told apart for sure. */
const leastAddresses = 1_000

type Told = { atMs: number; unsaid: number }

/** Lets one line a second and address into the log of those whom nobody needs to hear of one by one. */
export class Seldom {
  readonly #clock: Clock
  readonly #told = new BoundedMap<Told>(leastAddresses)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many lines were left out before this one; `undefined` if it is left out as well. */
  take(address: string): number | undefined {
    const nowMs = this.#clock()
    const told = this.#told.get(address)
    if (told && nowMs - told.atMs < everyMs) {
      told.unsaid++
      return undefined
    }
    this.#told.set(address, { atMs: nowMs, unsaid: 0 })
    return told?.unsaid ?? 0
  }
}
