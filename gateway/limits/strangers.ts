import type { Clock } from '../../shared/clock.ts'
import type { Refusal, RefusalCode } from '../../shared/refusal.ts'
import { neighbourhoodOf } from '../http/address.ts'
import { BoundedMap } from '../../shared/bounded-map.ts'
import { comeBack } from './come-back.ts'
import type { Standing } from './headers.ts'
import type { Limits } from './limits.ts'
import { newQuota, standing, step, type Decision, type QuotaState } from './step.ts'

/** How many addresses are remembered for sure; those that were quiet longest make room for new ones. */
const leastAddresses = 10_000

/** Counts what comes without a valid key, by address, in this process's memory alone. */
export class Strangers {
  /** What an address may ask; what it has asked stays counted if that changes. */
  limits: Limits
  readonly #clock: Clock
  readonly #told: (code: RefusalCode) => void
  readonly #quotas = new BoundedMap<QuotaState>(leastAddresses)

  /** `told` hears what each of them is told. */
  constructor(limits: Limits, clock: Clock, told: (code: RefusalCode) => void = () => undefined) {
    this.limits = limits
    this.#clock = clock
    this.#told = told
  }

  /** Counts one request of an address, and refuses it: for what it lacks, or with 429 for too many. */
  refuse(address: string, why: () => Refusal): { refusal: Refusal; standing: Standing } {
    const standing = { decision: this.#take(neighbourhoodOf(address)), limits: this.limits }
    const fits = standing.decision.verdict === 'admitted'
    const refusal = fits ? why() : comeBack('too_many_failed_attempts', standing)
    this.#told(refusal.code)
    return { refusal, standing }
  }

  /** Where an address stands, without counting anything. */
  stand(address: string): Decision {
    const name = neighbourhoodOf(address)
    return standing(this.#quotas.get(name) ?? newQuota(), name, this.#clock())
  }

  /** Whether the next request of an address would be one too many. */
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
