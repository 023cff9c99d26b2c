import type { CacheSlot } from '../limits/step.ts'
import {
  endReason,
  keyUntil,
  ownLimits,
  quotaOf,
  validUntil,
  type EndReason,
  type Key,
  type StoredKey,
} from './key.ts'
import { keyOfOutsider, type Outside, type Outsider } from './outsider.ts'
import { hashOfName } from './token.ts'

/** The private state of a caller. Apps that use the plugin can't reach it. */
export let stateOf: (caller: Caller) => CallerState

/**
 * The sender of a request with a valid key. A caller never changes: when its key or its token does, another
 * caller takes its place, and requests under way keep the one that they came with.
 */
export class Caller {
  /** The key's id: what logs, metrics and the backend see. */
  readonly id: string
  readonly name: string
  readonly plan: string
  /** The name of the quota that its requests use up: its account's, or its own. A test key has its own. */
  readonly quota: string
  /** Whether it may have refusals acted for it. */
  readonly isTest: boolean
  /** Later sunsets of an account hold for its test keys, too, which don't use up its quota. */
  readonly account: string | undefined
  /** The id by which the operator's own systems know the customer. */
  readonly reference: string | undefined
  /** The end of its token; 0 if the token isn't valid, `undefined` if it never ends. */
  readonly #endsAtMs: number | undefined
  readonly #state: CallerState

  /**
   * `token` is its name in memory. An outsider is known by what is said of it. @internal
   */
  constructor(token: string, stored: StoredKey, outsider?: Outsider) {
    const { version } = stored
    const outside = outsider && { outsider, stored }
    const key = outside ? keyOfOutsider(outside) : stored.key
    this.id = key.id
    this.name = key.name
    this.plan = key.plan
    this.quota = quotaOf(key)
    this.isTest = key.test === true
    this.account = key.account
    this.reference = key.reference
    const hash = hashOfName(token)
    const endsAtMs = outsider ? Math.min(keyUntil(key), outsider.untilMs) : validUntil(key, hash)
    this.#endsAtMs = endsAtMs === Infinity ? undefined : endsAtMs
    const overrides = overridesOf({ ...key, limits: ownLimits(key) })
    const endsBecause = endReason(key, outsider ? undefined : hash)
    // One literal: made of spreads, its last members would lie apart.
    this.#state = {
      token,
      version,
      overrides,
      endsBecause,
      outside,
      isRecent: false,
      nextOfKey: undefined,
      previousOfKey: undefined,
      record: undefined,
      counts: undefined,
    }
    Object.freeze(this)
  }

  /** Its name elsewhere: the id that an app gave, or the subject of a JWT; `undefined` for one with a key. */
  get subject(): string | undefined {
    return this.#state.outside?.outsider.subject
  }

  /** The `data` that an app gave with it, or the verified claims of its JWT; `undefined` for one with a key. */
  get data(): unknown {
    return this.#state.outside?.outsider.data
  }

  isValidAt(nowMs: number): boolean {
    return this.#endsAtMs === undefined || this.#endsAtMs > nowMs
  }

  toJSON(): object {
    const { id, subject, name, plan, account, quota, isTest } = this
    return { id, subject, name, plan, account, quota, ...(isTest && { isTest }) }
  }

  static {
    stateOf = (caller) => caller.#state
  }
}

/** The settings of a key that its plan doesn't have. */
export type KeyOverrides = Pick<
  Key,
  'limits' | 'cap' | 'methods' | 'paths' | 'addresses' | 'scopes' | 'origins'
>

/**
 * The state that a caller's next request needs, without further look-ups: waiting for memory costs a request more
 * than any computation.
 */
export type CallerState = CacheSlot & {
  /** The name of its token in memory. */
  readonly token: string
  /** The version of the key, which rises with each change. */
  readonly version: number
  readonly overrides: KeyOverrides | undefined
  /** Why its token isn't valid, or won't be from its end on. */
  readonly endsBecause: EndReason
  /** What is said of a caller from outside, and its record; `undefined` for one whose token is its key's. */
  readonly outside: Outside | undefined
  /** Whether it has sent a request since the cache's hand last passed. */
  isRecent: boolean
  /** The caller of another token of the same key. */
  nextOfKey: Caller | undefined
  previousOfKey: Caller | undefined
  /** The counts of its requests, which only `counts/` knows. */
  counts: object | undefined
}

function overridesOf(key: KeyOverrides): KeyOverrides | undefined {
  const { limits, cap, methods, paths, addresses, scopes, origins } = key
  const overrides = { limits, cap, methods, paths, addresses, scopes, origins }
  return Object.values(overrides).some(Boolean) ? overrides : undefined
}
