import type { Clock } from '../../shared/clock.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { Limits } from './limits.ts'
import { newQuota, standing, step, type Decision, type QuotaState } from './step.ts'

/** How many addresses are remembered; those that were quiet longest make room for new ones. */
const mostAddresses = 50_000

/** Counts what comes without a valid key, by address, in this process's memory alone. */
export class Strangers {
  readonly limits: Limits
  readonly #clock: Clock
  readonly #quotas = new BoundedMap<QuotaState>(mostAddresses)

  constructor(limits: Limits, clock: Clock) {
    this.limits = limits
    this.#clock = clock
  }

  /** Counts one request of an address, if it still fits. */
  take(address: string): Decision {
    let quota = this.#quotas.get(address)
    if (!quota) this.#quotas.set(address, (quota = newQuota()))
    return step(quota, { key: address, cost: 1, limits: this.limits }, this.#clock())
  }

  /** Whether the next request of an address would be refused. */
  isOver(address: string): boolean {
    const quota = this.#quotas.get(address)
    if (!quota) return false
    const { minuteUsed, dayUsed } = standing(quota, address, this.#clock())
    return minuteUsed >= this.limits.perMinute || dayUsed >= this.limits.perDay
  }
}
