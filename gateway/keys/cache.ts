import type { Caller, Grant } from '../caller.ts'
import type { Plan } from '../limits/limits.ts'
import { validUntil, type Key, type StoredKey } from './key.ts'
import { hashOf } from './token.ts'

/** A token that was looked up and found: what is known of its key, kept up to date. */
export type CachedKey = {
  readonly token: string
  grant: Grant
  version: number
  validUntilMs: number
  /** Whom it stands for, and by which plans; made when it is first asked for, and again when either changes. */
  caller: Caller | undefined
  plans: ReadonlyMap<string, Plan> | undefined
  /** Whether it was asked for since the hand last passed. */
  isUsed: boolean
  /** Another token of the same key. */
  next: CachedKey | undefined
}

/**
 * The keys that a gateway has met lately, so that their requests cost no look-up and no hash. Only
 * tokens of keys that exist get in, so invented ones can neither fill it nor push others out.
 *
 * When it is full, a hand goes round like a clock's: what was used since it last came by stays, and
 * the first that was not makes room. What is kept of a key is little, because there are many of them:
 * 0.5 KB each, where all that a store knows of one, by token and by hash, took 1.2.
 */
export class KeyCache {
  readonly #size: number
  readonly #byToken = new Map<string, CachedKey>()
  readonly #byId = new Map<string, CachedKey>()
  #hand: Iterator<CachedKey, undefined> | undefined
  /** How many the hand has yet to come to in this round. */
  #left = 0

  constructor(size: number) {
    this.#size = size
  }

  /** The key of a token, if it was met; whether it is valid is for the caller to see. */
  get(token: string): CachedKey | undefined {
    const entry = this.#byToken.get(token)
    if (entry) entry.isUsed = true
    return entry
  }

  add(token: string, stored: StoredKey): CachedKey {
    const known = this.#byToken.get(token)
    // A look-up may be overtaken by news of a change, and by another look-up.
    if (known) {
      refresh(known, stored)
      return known
    }
    if (this.#byToken.size >= this.#size) this.#makeRoom()
    const entry = entryOf(inOnePiece(token), stored, this.#byId.get(stored.key.id))
    this.#byToken.set(entry.token, entry)
    this.#byId.set(entry.grant.id, entry)
    return entry
  }

  /** Takes a change of a key to heart, for all of its tokens that are known here. */
  update(stored: StoredKey): void {
    for (let each = this.#byId.get(stored.key.id); each; each = each.next) refresh(each, stored)
  }

  get size(): number {
    return this.#byToken.size
  }

  #makeRoom(): void {
    for (;;) {
      // What has come since the round began is not of it: else the hand would stay among the new ones.
      if (this.#left-- <= 0) {
        this.#hand = this.#byToken.values()
        this.#left = this.#byToken.size - 1
      }
      const entry = this.#hand?.next().value
      if (!entry) this.#left = 0
      else if (entry.isUsed) entry.isUsed = false
      else return this.#drop(entry)
    }
  }

  #drop(entry: CachedKey): void {
    const { id } = entry.grant
    this.#byToken.delete(entry.token)
    let before = this.#byId.get(id)
    if (before === entry) {
      if (entry.next) this.#byId.set(id, entry.next)
      else this.#byId.delete(id)
      return
    }
    while (before && before.next !== entry) before = before.next
    if (before) before.next = entry.next
  }
}

function entryOf(token: string, { key, version }: StoredKey, next?: CachedKey): CachedKey {
  return {
    token,
    grant: grantOf(key),
    version,
    validUntilMs: validUntil(key, hashOf(token)),
    caller: undefined,
    plans: undefined,
    isUsed: false,
    next,
  }
}

function refresh(entry: CachedKey, { key, version }: StoredKey): void {
  if (version < entry.version) return
  entry.version = version
  entry.grant = grantOf(key)
  entry.validUntilMs = validUntil(key, hashOf(entry.token))
  entry.plans = undefined
}

/** Its secrets, and whatever else is for operators alone, stay in the store. */
function grantOf({ id, name, plan, account, limits, methods, paths, addresses }: Key): Grant {
  return { id, name, plan, account, limits, methods, paths, addresses }
}

/** A part of a header line keeps the whole line in memory; its copy doesn't. */
function inOnePiece(token: string): string {
  return Buffer.from(token, 'latin1').toString('latin1')
}
