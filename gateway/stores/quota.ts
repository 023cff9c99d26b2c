import { RateLimiterCompatibleAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import { tellingWindow } from '../limits/headers.ts'
import type { Limits } from '../limits/limits.ts'
import type { Ask, BanRules, Decision } from '../limits/step.ts'

/** A ban that runs. */
export type Ban = Readonly<{ key: string; quota: string; untilMs: number }>

/** What others tell of bans. */
export type BanListener = Readonly<{
  /** A key was banned, by its own doing or by an operator. */
  banned: (ban: Ban) => void
  /** A ban was lifted or a quota reset somewhere: what this process remembers may be untrue. */
  forgiven: () => void
  /** The store can't be reached any more; with `undefined`, it can again. A single failure is none. */
  trouble?: (cause: Error | undefined) => void
  /** How long it took to write counters down, where counting itself is done in memory. */
  took?: (milliseconds: number) => void
}>

/**
 * What has been counted, by quota, for any number of gateways. Each method is one atomic step.
 *
 * `decide` answers at once where the store is in memory, else by a promise. It throws or rejects if
 * the store can't be reached; whether the request was counted then is not known. Time is the
 * store's: one clock for all gateways.
 */
export interface QuotaStore {
  /** Whether what it holds can't be lost while this process lives, so that nothing need be carried. */
  readonly isLocal: boolean
  /** How many gateways count here, as far as was last known; this one included. */
  readonly gateways: number
  /** Decides a request and counts it; with cost 0 it counts nothing and tells where the key stands. */
  decide(quota: string, ask: Ask): Decision | Promise<Decision>
  /** Gives back what a request of a day has cost, if that day still runs. */
  giveBack(quota: string, cost: number, day: number): void | Promise<void>
  /** Empties both windows of a quota. */
  reset(quota: string): Promise<void>
  /** Bans a key until a time, in place of a ban that runs. */
  ban(quota: string, key: string, untilMs: number): Promise<void>
  /** Ends a ban, and forgets it; `false` if none ran. */
  lift(quota: string, key: string): Promise<boolean>
  bans(): Promise<readonly Ban[]>
  /**
   * Tells of lifts and resets, by whomever, within a second, and of bans where that spares a question.
   * Gives what ends the watch.
   */
  watch(listener: BanListener): () => void
  close(): Promise<void>
}

/** How a limiter of rate-limiter-flexible is made of a quota store. */
export type LimiterOptions = Readonly<{ keyPrefix?: string; limits: Limits; bans?: BanRules }>

/** What the names of limiters begin with, so that none of them is the quota of a key or of an account. */
const ofLimiter = 'limiter:'

/**
 * A quota store as one of rate-limiter-flexible's limiters, so that its wrappers and queues work with
 * it, and others can take it for their insurance.
 *
 * Its RateLimiterUnion is no use for a minute and a day: it asks both at once and takes nothing back,
 * so that a day is charged for what the minute refuses (2,000 counted for 700 served).
 */
export class QuotaLimiter extends RateLimiterCompatibleAbstract {
  override readonly keyPrefix: string
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
  }

  override async consume(key: string | number, points = 1): Promise<RateLimiterRes> {
    const decision = await this.#ask(key, points)
    const result = this.#result(decision)
    if (decision.verdict === 'admitted') return result
    // The library's limiters reject with a result that is no error; its wrappers rely on it.
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw result
  }

  override async get(key: string | number): Promise<RateLimiterRes | null> {
    const decision = await this.#ask(key, 0)
    return decision.minuteUsed === 0 && decision.dayUsed === 0 ? null : this.#result(decision)
  }

  override penalty(key: string | number, points = 1): Promise<RateLimiterRes> {
    return this.consume(key, points)
  }

  override async reward(key: string | number, points = 1): Promise<RateLimiterRes> {
    const { seen } = await this.#ask(key, 0)
    await this.#store.giveBack(this.#name(key), points, seen.day)
    return this.#result(await this.#ask(key, 0))
  }

  override async set(key: string | number, points: number): Promise<RateLimiterRes> {
    await this.#store.reset(this.#name(key))
    return this.consume(key, points)
  }

  override async block(key: string | number, seconds: number): Promise<RateLimiterRes> {
    const { nowMs } = await this.#ask(key, 0)
    await this.#store.ban(this.#name(key), this.#name(key), nowMs + seconds * 1_000)
    return this.#result(await this.#ask(key, 0))
  }

  override async delete(key: string | number): Promise<boolean> {
    await this.#store.reset(this.#name(key))
    return true
  }

  #name(key: string | number): string {
    return `${ofLimiter}${this.keyPrefix}${key}`
  }

  async #ask(key: string | number, cost: number): Promise<Decision> {
    const name = this.#name(key)
    return this.#store.decide(name, { key: name, cost, limits: this.#limits, bans: this.#bans })
  }

  #result(decision: Decision): RateLimiterRes {
    const window = tellingWindow(decision, this.#limits)
    const { limit = 0, remaining = 0, resetMs = decision.nowMs } = window ?? {}
    return new RateLimiterRes(remaining, resetMs - decision.nowMs, limit - remaining, false)
  }
}
