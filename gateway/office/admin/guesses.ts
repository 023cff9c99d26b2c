import type { Clock } from '../../../shared/clock.ts'
import type { Refusal } from '../../../shared/refusal.ts'
import { plainAddress } from '../../front/http/address.ts'
import type { Limits } from '../../front/limits/limits.ts'
import type { StrangerStore } from '../../front/limits/stranger-store.ts'
import { Strangers } from '../../front/limits/strangers.ts'

export type GuessesOptions = Readonly<{
  /** The place where something is guessed. Each place has counts of its own. */
  at: 'admin' | 'console'
  /** The limits of an address in the configuration in force. */
  limits: () => Limits
  clock: Clock
  /** The counts of the whole fleet; without them, this gateway counts alone. */
  store: StrangerStore | undefined
}>

/** Counts failed attempts by address, like requests of callers without a key. */
export class Guesses {
  readonly #strangers: Strangers
  readonly #limits: () => Limits

  constructor({ at, limits, clock, store }: GuessesOptions) {
    this.#limits = limits
    this.#strangers = new Strangers({ limits: limits(), clock, store, prefix: `${at} ` })
  }

  /** The refusal of a request without a valid token: `why`, or 429 over the limit of its address. */
  refuse(address: string | undefined, why: () => Refusal): Refusal {
    this.#strangers.limits = this.#limits()
    return this.#strangers.refuse(plainAddress(address ?? ''), why).refusal
  }
}
