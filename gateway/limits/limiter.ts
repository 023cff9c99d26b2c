import { RateLimiterCompatibleAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import type { QuotaStore } from './store.ts'
import { tellingWindow } from './headers.ts'
import { noLimits, type Limits } from './limits.ts'
import { dayMs, minuteMs, type BanRules, type Decision } from './step.ts'

/** How a limiter of rate-limiter-flexible is made of a quota store. */
export type LimiterOptions = Readonly<{ keyPrefix?: string; limits: Limits; bans?: BanRules }>

/** What the names of limiters begin with, so that none of them is the quota of a key or of an account. */
const ofLimiter = 'limiter:'

/** A block without an end lasts for a hundred years. */
const foreverMs = 36_500 * dayMs

/**
 * A quota store as one of rate-limiter-flexible's limiters, so that its wrappers and queues work with
 * it, and others can take it for their insurance.
 *
 * It differs from theirs where a quota does: what is refused is not counted; `reward` gives back of the day, and
 * the minute stays as it is; the windows are a minute and a day of the clock, so `customDuration` is refused, and
 * `blockDuration` (that is `bans`) and `execEvenly` are not heeded.
 *
 * RateLimiterUnion is no use for a minute and a day: it asks both at once and takes nothing back, so that a day is
 * charged for what the minute refuses (2,000 counted for 700 served).
 */
export class QuotaLimiter extends RateLimiterCompatibleAbstract {
  override readonly keyPrefix: string
  /** The most that can be consumed at once, and the seconds of the window that says so: queues ask for these. */
  readonly points: number
  readonly duration: number
  /** These two are looked at by wrappers, and not heeded. */
  override blockDuration = 0
  override execEvenly = false
  readonly #store: QuotaStore
  readonly #limits: Limits
  readonly #bans: BanRules | undefined

  constructor(store: QuotaStore, { keyPrefix = '', limits, bans }: LimiterOptions) {
    super()
    this.#store = store
    this.keyPrefix = keyPrefix
    this.#limits = limits
    this.#bans = bans
    this.points = Math.min(limits.perMinute, limits.perDay)
    this.duration = (limits.perDay < limits.perMinute ? dayMs : minuteMs) / 1_000
  }

  getKey(key: string | number): string {
    return `${ofLimiter}${this.keyPrefix}${key}`
  }

  parseKey(name: string): string {
    return name.slice(this.getKey('').length)
  }

  override async consume(
    key: string | number,
    points = 1,
    options: Record<string, unknown> = {},
  ): Promise<RateLimiterRes> {
    requireOwnWindows(options)
    requirePoints(points)
    const decision = await this.#ask(key, points)
    const result = this.#result(decision)
    if (decision.verdict === 'admitted') return result
    // The library's limiters reject with a result that is no error; its wrappers rely on it.
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw result
  }

  override async get(key: string | number): Promise<RateLimiterRes | null> {
    const decision = await this.#ask(key, 0)
    const { minuteUsed, dayUsed, bannedUntilMs } = decision
    return minuteUsed + dayUsed + bannedUntilMs === 0 ? null : this.#result(decision)
  }

  /** Counts, whatever the limits say. */
  override async penalty(
    key: string | number,
    points = 1,
    options: Record<string, unknown> = {},
  ): Promise<RateLimiterRes> {
    requireOwnWindows(options)
    requirePoints(points)
    return this.#result(await this.#ask(key, points, noLimits))
  }

  /** Gives back of what was used today; what was used in this minute stays. */
  override async reward(key: string | number, points = 1): Promise<RateLimiterRes> {
    requirePoints(points)
    const { seen } = await this.#ask(key, 0)
    await this.#store.giveBack(this.getKey(key), points, seen.day)
    return this.#result(await this.#ask(key, 0))
  }

  /** From now on so much is used, also if that is more than may be; whatever was blocked isn't. */
  override async set(key: string | number, points: number): Promise<RateLimiterRes> {
    requirePoints(points)
    await this.delete(key)
    return this.#result(await this.#ask(key, points, noLimits))
  }

  /** Refuses all for so many seconds; for 0, until it is deleted. */
  override async block(key: string | number, seconds: number): Promise<RateLimiterRes> {
    const { nowMs } = await this.#ask(key, 0)
    const name = this.getKey(key)
    await this.#store.ban(name, name, nowMs + (seconds > 0 ? seconds * 1_000 : foreverMs))
    return this.#result(await this.#ask(key, 0))
  }

  /** Forgets what was used, and a block; `false` if there was nothing to forget. */
  override async delete(key: string | number): Promise<boolean> {
    const name = this.getKey(key)
    const wasThere = (await this.get(key)) !== null
    await this.#store.lift(name, name)
    await this.#store.reset(name)
    return wasThere
  }

  async #ask(key: string | number, cost: number, limits = this.#limits): Promise<Decision> {
    const name = this.getKey(key)
    return this.#store.decide(name, { key: name, cost, limits, bans: this.#bans })
  }

  #result(decision: Decision): RateLimiterRes {
    const { nowMs, minuteUsed, dayUsed, cost, verdict, bannedUntilMs } = decision
    const window = tellingWindow(decision, this.#limits)
    const used = window?.name === 'day' ? dayUsed : minuteUsed
    // As theirs tell of what is blocked.
    if (verdict === 'banned')
      return new RateLimiterRes(0, bannedUntilMs - nowMs, this.points + 1, false)
    const isFirst = verdict === 'admitted' && cost > 0 && used === cost
    if (!window) return new RateLimiterRes(Number.MAX_SAFE_INTEGER, 0, used, isFirst)
    return new RateLimiterRes(window.remaining, window.resetMs - nowMs, used, isFirst)
  }
}

function requireOwnWindows({ customDuration }: Record<string, unknown>): void {
  if (customDuration === undefined) return
  throw new TypeError('QuotaLimiter counts a minute and a day: it takes no customDuration')
}

/** Stores count in whole points, each in its own way of what isn't. */
function requirePoints(points: number): void {
  if (Number.isSafeInteger(points) && points >= 0) return
  throw new TypeError(`points must be a whole number from 0 up, got ${String(points)}`)
}
