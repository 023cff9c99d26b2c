import { BoundedMap } from '../../../shared/bounded-map.ts'

/** The time between two questions of one quota. */
const everyMs = 1_000

/** The least number of quotas whose last question is remembered. */
const leastQuotas = 10_000

/** Lets each quota ask once a second, and not while its last question is being answered. */
export class Pace {
  readonly #askedAtMs = new BoundedMap<number>(leastQuotas)
  readonly #underWay = new Set<string>()

  /** Does `work` in its turn; `undefined` if it isn't its turn. A question that comes too early delays nothing. */
  async take<Result>(
    quota: string,
    nowMs: number,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    const passedMs = nowMs - (this.#askedAtMs.get(quota) ?? -Infinity)
    // A clock that was set back holds nobody up.
    const isEarly = passedMs >= 0 && passedMs < everyMs
    if (isEarly || this.#underWay.has(quota)) return undefined
    this.#askedAtMs.set(quota, nowMs)
    this.#underWay.add(quota)
    try {
      return await work()
    } finally {
      this.#underWay.delete(quota)
    }
  }
}
