import { Caller, stateOf, type CallerState } from './caller.ts'
import { quotaOf, type StoredKey } from './key.ts'
import type { Outside, Outsider } from './outsider.ts'
import { tokenName } from './token.ts'

/** The most tokens of one key, which an issuer may give without end: a change of the key renews 1,000 callers in 2 ms. */
const mostTokensOfKey = 1_000

/**
 * Caches callers by token, so that their next requests cost no look-up and no hash. Only tokens of existing keys
 * are added, so invented ones can neither fill the cache nor evict others.
 *
 * Evicts by the clock algorithm: a hand goes round, skips callers that were used since its last visit, and
 * evicts the first that wasn't.
 */
export class CallerCache {
  readonly #size: number
  readonly #byToken = new Map<string, Caller>()
  /** By the id of their key. */
  readonly #byId = new Map<string, Caller>()
  #hand: Iterator<Caller, undefined> | undefined
  /** The number of callers left in this round of the hand. */
  #left = 0

  constructor(size: number) {
    this.#size = size
  }

  /** The cached caller of a token; the user of the cache checks whether it is still valid. */
  get(token: string): Caller | undefined {
    const caller = this.#byToken.get(tokenName(token))
    if (caller) stateOf(caller).isRecent = true
    return caller
  }

  add(token: string, stored: StoredKey, outsider?: Outsider): Caller {
    // A change, or another look-up, may have overtaken this one. Otherwise the other callers of the key stay.
    const other = this.#byId.get(stored.key.id)
    if (other && stateOf(other).version < stored.version) this.update(stored)
    const name = tokenName(token)
    const cached = this.#byToken.get(name)
    if (cached && !outsider) return cached
    if (cached) this.#drop(cached)
    else if (this.#byToken.size >= this.#size) this.#makeRoom()
    const former = outsider && this.outsideOf(stored.key.id)?.stored
    const latest = former && former.version > stored.version ? former : stored
    const caller = new Caller(copied(name), latest, outsider)
    this.#put(caller)
    if (outsider) this.#dropBeyond(caller)
    return caller
  }

  /** What a cached caller from outside has of a key; `undefined` if none is cached. */
  outsideOf(id: string): Outside | undefined {
    const caller = this.#byId.get(id)
    return caller && stateOf(caller).outside
  }

  /** The quotas of an outsider's cached tokens, and that of its record. */
  outsideQuotasOf(id: string): ReadonlySet<string> {
    const quotas = new Set<string>()
    let caller = this.#byId.get(id)
    for (; caller; caller = stateOf(caller).nextOfKey) {
      const { outside } = stateOf(caller)
      if (outside) quotas.add(caller.quota).add(quotaOf(outside.stored.key))
    }
    return quotas
  }

  /** Replaces the cached callers of a changed key, one for each of its tokens. */
  update(stored: StoredKey): void {
    const { key, version } = stored
    const first = this.#byId.get(key.id)
    if (!first || stateOf(first).version > version) return
    this.#byId.delete(key.id)
    const states: CallerState[] = []
    for (let old: Caller | undefined = first; old; old = stateOf(old).nextOfKey) {
      states.push(stateOf(old))
    }
    // The oldest first, as they came.
    for (const before of states.reverse()) {
      const caller = new Caller(before.token, stored, before.outside?.outsider)
      stateOf(caller).isRecent = before.isRecent
      this.#put(caller)
    }
  }

  clear(): void {
    this.#byToken.clear()
    this.#byId.clear()
    this.#left = 0
  }

  get size(): number {
    return this.#byToken.size
  }

  #put(caller: Caller): void {
    const state = stateOf(caller)
    const next = this.#byId.get(caller.id)
    state.nextOfKey = next
    if (next) stateOf(next).previousOfKey = caller
    this.#byToken.set(state.token, caller)
    this.#byId.set(caller.id, caller)
  }

  /** Drops the oldest token of a key that has one too many. */
  #dropBeyond(newest: Caller): void {
    let [count, last] = [1, newest]
    for (let next = stateOf(last).nextOfKey; next; next = stateOf(last).nextOfKey) {
      count++
      last = next
    }
    if (count > mostTokensOfKey) this.#drop(last)
  }

  #makeRoom(): void {
    for (;;) {
      // Later additions don't belong to this round: the hand would never leave them otherwise.
      if (this.#left-- <= 0) {
        this.#hand = this.#byToken.values()
        this.#left = this.#byToken.size - 1
      }
      const caller = this.#hand?.next().value
      if (!caller) {
        this.#left = 0
        continue
      }
      const state = stateOf(caller)
      if (!state.isRecent) return this.#drop(caller)
      state.isRecent = false
    }
  }

  #drop(caller: Caller): void {
    // An outsider may have a token for each of its requests, so others of its key aren't looked through.
    const { token, nextOfKey, previousOfKey } = stateOf(caller)
    this.#byToken.delete(token)
    if (nextOfKey) stateOf(nextOfKey).previousOfKey = previousOfKey
    if (previousOfKey) stateOf(previousOfKey).nextOfKey = nextOfKey
    else if (nextOfKey) this.#byId.set(caller.id, nextOfKey)
    else this.#byId.delete(caller.id)
  }
}

/** A copy of a token: a slice of a header line would keep the whole line in memory. */
function copied(token: string): string {
  return Buffer.from(token, 'latin1').toString('latin1')
}
