import type { Clock } from '../../shared/clock.ts'
import type { Refusal, RefusalCode } from '../../shared/refusal.ts'
import { neighbourhoodOf } from '../http/address.ts'
import { BoundedMap } from '../../shared/bounded-map.ts'
import { waitRefusal } from './wait-refusal.ts'
import type { Standing } from './headers.ts'
import type { Limits } from './limits.ts'
import { newQuota, standing, step, type Decision, type QuotaState } from './step.ts'

/** The least number of addresses that are remembered. The longest quiet ones make room for new ones. */
const leastAddresses = 10_000

/** Counts requests without a valid key by address, in the memory of this process only. */
export class Strangers {
  /** The limits of an address. A change keeps the counts. */
  limits: Limits
  readonly #clock: Clock
  readonly #onRefused: (code: RefusalCode) => void
  readonly #quotas = new BoundedMap<QuotaState>(leastAddresses)

  /** `onRefused` gets the code of each refusal. */
  constructor(
    limits: Limits,
    clock: Clock,
    onRefused: (code: RefusalCode) => void = () => undefined,
  ) {
    this.limits = limits
    this.#clock = clock
    this.#onRefused = onRefused
  }

  /** Counts a request of an address. Refuses it with `why`, or with 429 if there were too many. */
  refuse(address: string, why: () => Refusal): { refusal: Refusal; standing: Standing } {
    const standing = { decision: this.#take(neighbourhoodOf(address)), limits: this.limits }
    const fits = standing.decision.verdict === 'admitted'
    const refusal = fits ? why() : waitRefusal('too_many_failed_attempts', standing)
    this.#onRefused(refusal.code)
    return { refusal, standing }
  }

  /** The state of an address's limits; counts nothing. */
  stand(address: string): Decision {
    const name = neighbourhoodOf(address)
    return standing(this.#quotas.get(name) ?? newQuota(), name, this.#clock())
  }

  /** Whether the next request of an address would exceed its limits. */
  isOver(address: string): boolean {
    const { minuteUsed, dayUsed } = this.stand(address)
    return minuteUsed >= this.limits.perMinute || dayUsed >= this.limits.perDay
  }

  #take(name: string): Decision {
    let quota = this.#quotas.get(name)
    if (!quota) this.#quotas.set(name, (quota = newQuota()))
    return step(quota, { key: name, cost: 1, limits: this.limits }, this.#clock())
  }
}
