import { accountOf, quotaOf, validUntil, type StoredKey } from './keys/key.ts'
import { hashOf } from './keys/token.ts'
import type { Standing } from './limits/headers.ts'
import type { Limits } from './limits/limits.ts'
import type { BanRules } from './limits/step.ts'
import type { Doing } from './records/tallying.ts'
import { specialOf, type Offer, type Restriction, type Special, type Terms } from './terms.ts'

/**
 * All that is known of who sends a request, once its key has been found.
 *
 * There are many, and each request asks for another one: what a gateway keeps of a caller is in one record,
 * because each other place that a request has to look at is a wait for memory.
 */
export class Caller {
  #terms: Terms | undefined
  /** When its token stops letting it in; 0 if it already has, `undefined` if it never does. */
  readonly #endsAtMs: number | undefined
  /** Whether it has sent something since the cache's hand last passed. */
  isUsed = false
  /** Whose requests are counted together: those of an account, or of this key alone. */
  readonly quota: string
  /** What is counted of it, and what it does: for those who count. */
  found: object | undefined
  doing: Doing | undefined
  /** The key's id: what logs, metrics and the backend see. */
  readonly id: string
  readonly plan: string
  readonly name: string
  readonly #token: string
  readonly #special: Special | undefined
  /** The number of the change that made its key what it is. */
  readonly version: number
  /** The caller of another token of the same key. */
  next: Caller | undefined

  constructor(token: string, { key, version }: StoredKey) {
    const endsAtMs = validUntil(key, hashOf(token))
    this.#endsAtMs = endsAtMs === Infinity ? undefined : endsAtMs
    this.quota = quotaOf(key)
    this.id = key.id
    this.plan = key.plan
    this.name = key.name
    this.#token = token
    this.#special = specialOf(key)
    this.version = version
  }

  isValidAt(nowMs: number): boolean {
    return this.#endsAtMs === undefined || this.#endsAtMs > nowMs
  }

  /** Takes the terms of a configuration, if it has others; `false` if that has none for it. */
  takes(offer: Offer): boolean {
    if (this.#terms?.offer === offer) return true
    const terms = offer.termsOf(this.plan, this.#special)
    // Those that it had are left to requests that were let in by them.
    this.#terms = terms ?? this.#terms
    return terms !== undefined
  }

  get limits(): Limits {
    return agreed(this.#terms).limits
  }

  /** When strikes become a ban; none for a plan without bans. */
  get bans(): BanRules | undefined {
    return agreed(this.#terms).bans
  }

  /** What its key is restricted to, if it is. */
  get allows(): Restriction | undefined {
    return agreed(this.#terms).allows
  }

  get account(): string | undefined {
    return accountOf(this.quota)
  }

  /** What it sends to be known; it is nobody else's business, and so is left out where a caller is printed. */
  get token(): string {
    return this.#token
  }

  toJSON(): object {
    const { id, name, plan, account, quota, limits, bans } = this
    return { id, name, plan, account, quota, limits, bans }
  }
}

function agreed(terms: Terms | undefined): Terms {
  if (!terms) throw new Error('a caller has terms when it is let in')
  return terms
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sends this request; `null` until its key was found valid. */
    caller: Caller | null
    /** Whether the caller's key is not for this operation or address. */
    forbidden: boolean
    /** How the caller, or the stranger, stands after this request: what the headers tell. */
    standing: Standing | null
  }
}
