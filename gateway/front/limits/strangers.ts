import type { Clock, Later } from '../../../shared/clock.ts'
import type { Refusal, RefusalCode } from '../../../shared/refusal.ts'
import { neighbourhoodOf } from '../http/address.ts'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import { FleetCounts, type StrangerAddress } from './fleet-counts.ts'
import { waitRefusal } from './wait-refusal.ts'
import type { Standing } from './headers.ts'
import { fits } from './counters.ts'
import type { Limits } from './limits.ts'
import { newQuota } from './quota-state.ts'
import { standing, step, type Decision } from './step.ts'
import type { StrangerStore } from './stranger-store.ts'

/** The least number of addresses that are remembered. The longest quiet ones make room for new ones. */
const leastAddresses = 10_000

export type StrangersOptions = Readonly<{
  limits: Limits
  clock: Clock
  /** Gets the code of each refusal. */
  onRefused?: (code: RefusalCode) => void
  /** The counts of the whole fleet; without them, this gateway counts alone. */
  store?: StrangerStore | undefined
  /** Goes before the names of addresses in the store: counts with another prefix are others. */
  prefix?: string
  /** The waits of what is told; a simulation passes its own. */
  later?: Later
}>

/**
 * Counts requests without a valid key by address. Each is decided by the counts in the memory of this process, to
 * which those of the other gateways are added afterwards.
 */
export class Strangers {
  /** The limits of an address. A change keeps the counts. */
  limits: Limits
  readonly #clock: Clock
  readonly #onRefused: ((code: RefusalCode) => void) | undefined
  readonly #prefix: string
  readonly #fleet: FleetCounts | undefined
  readonly #addresses = new BoundedMap<StrangerAddress>(leastAddresses)

  constructor({ limits, clock, onRefused, store, prefix = '', later }: StrangersOptions) {
    this.limits = limits
    this.#clock = clock
    this.#onRefused = onRefused
    this.#prefix = prefix
    this.#fleet = store && new FleetCounts(store, () => this.limits, clock, later)
  }

  /** Counts a request of an address. Refuses it with `why`, or with 429 if there were too many. */
  refuse(address: string, why: () => Refusal): { refusal: Refusal; standing: Standing } {
    const standing = { decision: this.#take(neighbourhoodOf(address)), limits: this.limits }
    const fits = standing.decision.verdict === 'admitted'
    const refusal = fits ? why() : waitRefusal('too_many_failed_attempts', standing)
    this.#onRefused?.(refusal.code)
    return { refusal, standing }
  }

  /** The state of an address's limits; counts nothing. */
  standing(address: string): Standing {
    const name = neighbourhoodOf(address)
    const { limits } = this
    const quota = this.#addresses.get(name)?.quota ?? newQuota()
    return { decision: standing(quota, { key: name, limits }, this.#clock()), limits }
  }

  /** Whether the next request of an address would exceed its limits. */
  isOver(address: string): boolean {
    return !fits(this.standing(address).decision.seen, 1, this.limits)
  }

  close(): void {
    this.#fleet?.close()
  }

  #take(name: string): Decision {
    let address = this.#addresses.get(name)
    if (!address) {
      address = { name: this.#prefix + name, quota: newQuota() }
      this.#addresses.set(name, address)
    }
    const { limits } = this
    const decision = step(address.quota, { key: name, cost: 1, limits }, this.#clock())
    if (decision.verdict === 'admitted') this.#fleet?.note(address)
    return decision
  }
}
