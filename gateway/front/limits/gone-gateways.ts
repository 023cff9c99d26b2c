import type { Clock } from '../../../shared/clock.ts'

/** The time between two looks at the fleet, and for which what it told is named. */
const lookMs = 1_000

/** How long a store must have been there before those who aren't in its fleet are gone: all of it has told of itself by then. */
const calmMs = 5_000

/** The most gateways that a question names as gone. */
const mostGone = 16

/** Which of some gateways the fleet holds for gone; it may look, and is asked at most once a second. */
export type GoneOf = (gateways: readonly string[]) => Promise<readonly string[]>

/** The gateways whose places are free, because they have ended without giving them back. */
export class GoneGateways {
  readonly #goneOf: GoneOf | undefined
  readonly #ticks: Clock
  #gone: readonly string[] = []
  #goneUntilTicks = -Infinity
  #askedAtTicks = -Infinity
  #calmSinceTicks: number

  constructor(goneOf: GoneOf | undefined, ticks: Clock) {
    this.#goneOf = goneOf
    this.#ticks = ticks
    this.#calmSinceTicks = ticks()
  }

  /** Those that a question names. One that wakes tells its places anew, and must not be named any more. */
  get named(): readonly string[] {
    return this.#ticks() < this.#goneUntilTicks ? this.#gone : []
  }

  /** The store was connected to anew: who is in its fleet isn't known yet. */
  reconnected(): void {
    this.#calmSinceTicks = this.#ticks()
  }

  /** Hears whose requests leave no room, and looks whether those gateways are gone. */
  hear(others: readonly string[]): void {
    const now = this.#ticks()
    if (!this.#goneOf || others.length === 0) return
    if (now - this.#askedAtTicks < lookMs || now - this.#calmSinceTicks < calmMs) return
    this.#askedAtTicks = now
    const note = (gone: readonly string[]): void => {
      this.#gone = gone.slice(0, mostGone)
      this.#goneUntilTicks = this.#ticks() + lookMs
    }
    this.#goneOf(others).then(note, () => undefined)
  }
}
