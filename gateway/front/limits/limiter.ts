import { RateLimiterCompatibleAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import type { QuotaStore } from './store.ts'
import { decisiveWindow, limitedWindows, type WindowState } from './headers.ts'
import { countsBrief, isLimited, limitOf, noLimits, type Limits } from './limits.ts'
import type { BanRules } from './conduct.ts'
import { unanswered } from './counters.ts'
import { usedBy, type Decision } from './step.ts'
import { dayMs, shortest, windows, type Window } from '../../../shared/windows.ts'

/** The options of a `QuotaLimiter`. */
export type LimiterOptions = Readonly<{ keyPrefix?: string; limits: Limits; bans?: BanRules }>

/** The prefix of all its quotas, which keeps them apart from those of keys and accounts. */
const quotaPrefix = 'limiter:'

/** A block without an end lasts for a hundred years. */
const foreverMs = 36_500 * dayMs

/**
 * A quota store as one of rate-limiter-flexible's limiters, so that its wrappers and queues work with
 * it, and others can take it for their insurance.
 *
 * It differs from theirs where a quota does. Refused points are not counted. `reward` gives points back
 * to the hour and the day, and leaves shorter windows as they are. The windows are those of the clock, up to a day, so
 * `customDuration` is refused; `blockDuration` (`bans` does that) and `execEvenly` are ignored.
 *
 * RateLimiterUnion can't limit a minute and a day together: it asks both at once and takes nothing
 * back, so the day is charged for what the minute refuses (2,000 counted for 700 served).
 */
export class QuotaLimiter extends RateLimiterCompatibleAbstract {
  override readonly keyPrefix: string
  /** The smaller limit, and the length of its window in seconds. Queues read both. */
  readonly points: number
  readonly duration: number
  /** Wrappers read these two; this limiter ignores them. */
  override blockDuration = 0
  override execEvenly = false
  readonly #store: QuotaStore
  readonly #limits: Limits
  readonly #bans: BanRules | undefined

  constructor(store: QuotaStore, { keyPrefix = '', limits, bans }: LimiterOptions) {
    super()
    requireShortWindows(limits)
    this.#store = store
    this.keyPrefix = keyPrefix
    this.#limits = limits
    this.#bans = bans
    const smallest = smallestOf(limits)
    this.points = limitOf(limits, smallest)
    this.duration = (smallest.lengthMs ?? dayMs) / 1_000
  }

  getKey(key: string | number): string {
    return `${quotaPrefix}${this.keyPrefix}${key}`
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
    const isUsed = windows.some((window) => usedBy(decision, window) > 0)
    return isUsed || decision.bannedUntilMs > 0 ? this.#result(decision) : null
  }

  /** Counts, also beyond the limits. */
  override async penalty(
    key: string | number,
    points = 1,
    options: Record<string, unknown> = {},
  ): Promise<RateLimiterRes> {
    requireOwnWindows(options)
    requirePoints(points)
    return this.#result(await this.#ask(key, points, noLimits))
  }

  /** Gives points back to the hour and the day; shorter windows stay as they are. */
  override async reward(key: string | number, points = 1): Promise<RateLimiterRes> {
    requirePoints(points)
    const { seen } = await this.#ask(key, 0)
    await this.#store.adjust(this.getKey(key), unanswered(points), { counters: seen })
    return this.#result(await this.#ask(key, 0))
  }

  /** Sets the usage, also beyond the limits, and ends a block. */
  override async set(key: string | number, points: number): Promise<RateLimiterRes> {
    requirePoints(points)
    await this.delete(key)
    return this.#result(await this.#ask(key, points, noLimits))
  }

  /** Refuses everything for some seconds; with 0, until `delete`. */
  override async block(key: string | number, seconds: number): Promise<RateLimiterRes> {
    const { nowMs } = await this.#ask(key, 0)
    const name = this.getKey(key)
    await this.#store.ban(name, name, nowMs + (seconds > 0 ? seconds * 1_000 : foreverMs))
    return this.#result(await this.#ask(key, 0))
  }

  /** Forgets the usage and a block; `false` if there was neither. */
  override async delete(key: string | number): Promise<boolean> {
    const name = this.getKey(key)
    const wasThere = (await this.get(key)) !== null
    await this.#store.lift(name, name)
    await this.#store.reset(name)
    return wasThere
  }

  async #ask(key: string | number, cost: number, limits = this.#limits): Promise<Decision> {
    const name = this.getKey(key)
    const ask = {
      key: name,
      cost,
      limits,
      countsBrief: countsBrief(this.#limits),
      bans: this.#bans,
    }
    return this.#store.decide(name, ask)
  }

  #result(decision: Decision): RateLimiterRes {
    const { nowMs, cost, verdict, bannedUntilMs } = decision
    const state = leastWindow(decision, this.#limits)
    const used = usedBy(decision, state?.window ?? shortest)
    // Their limiters answer a block with one point more than the limit, too.
    if (verdict === 'banned')
      return new RateLimiterRes(0, bannedUntilMs - nowMs, this.points + 1, false)
    const isFirst = verdict === 'admitted' && cost > 0 && used === cost
    if (!state) return new RateLimiterRes(Number.MAX_SAFE_INTEGER, 0, used, isFirst)
    return new RateLimiterRes(state.remaining, state.resetMs - nowMs, used, isFirst)
  }
}

function requireOwnWindows({ customDuration }: Record<string, unknown>): void {
  if (customDuration === undefined) return
  throw new TypeError('QuotaLimiter counts windows of the clock: it takes no customDuration')
}

/** Strangers choose the names under which an app counts, so that a store keeps them no longer than a day. */
function requireShortWindows(limits: Limits): void {
  const long = windows.find(
    (window) => isLimited(limits, window) && (window.lengthMs ?? Infinity) > dayMs,
  )
  if (long)
    throw new TypeError(`QuotaLimiter keeps its counts for a day: it takes no ${long.limit}`)
}

/** The window that stops an app first: unlike callers, apps are told of seconds as well. */
function leastWindow(decision: Decision, limits: Limits): WindowState | undefined {
  if (decision.verdict !== 'admitted') return decisiveWindow(decision, limits)
  return Object.values(limitedWindows(decision, limits)).reduceRight<WindowState | undefined>(
    (least, state) => (state.remaining < (least?.remaining ?? Infinity) ? state : least),
    undefined,
  )
}

/** The window with the smallest limit; of equals the shortest. */
function smallestOf(limits: Limits): Window {
  return windows.reduce(
    (least, window) => (limitOf(limits, window) < limitOf(limits, least) ? window : least),
    shortest,
  )
}

/** Stores count whole points; each would round fractions in its own way. */
function requirePoints(points: number): void {
  if (Number.isSafeInteger(points) && points >= 0) return
  throw new TypeError(`points must be a whole number from 0 up, got ${String(points)}`)
}
