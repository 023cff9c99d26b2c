import type { StoredKey } from './key.ts'
import { validUntil } from './key.ts'

/** A token that was looked up and found: what is known of its key, kept up to date. */
export type CachedKey = {
  readonly hash: string
  stored: StoredKey
  validUntilMs: number
}

type Generation = { byToken: Map<string, CachedKey>; byHash: Map<string, CachedKey> }

/**
 * The keys that a gateway has met lately, so that their requests cost no look-up and no hash. Only
 * tokens of keys that exist get in, so invented ones can neither fill it nor push others out.
 *
 * It holds two generations of half the size: what is used moves to the young one, and when that is
 * full the old one, which nobody has asked for since, goes at once.
 */
export class KeyCache {
  readonly #half: number
  #young = emptyGeneration()
  #old = emptyGeneration()

  constructor(size: number) {
    this.#half = Math.max(1, Math.floor(size / 2))
  }

  /** The key of a token, if it was met; whether it is valid is for the caller to see. */
  get(token: string): CachedKey | undefined {
    const young = this.#young.byToken.get(token)
    if (young) return young
    const old = this.#old.byToken.get(token)
    if (old) this.#keep(token, old)
    return old
  }

  add(token: string, hash: string, stored: StoredKey): CachedKey {
    // A second token or look-up of the same key may have been told of a change already.
    const known = this.#byHash(hash)
    const entry = known ?? { hash, stored, validUntilMs: validUntil(stored.key, hash) }
    if (known) refresh(known, stored)
    this.#keep(token, entry)
    return entry
  }

  /** Takes a change of a key to heart, for all of its secrets that are known here. */
  update(stored: StoredKey): void {
    for (const { hash } of stored.key.secrets) {
      const entry = this.#byHash(hash)
      if (entry) refresh(entry, stored)
    }
  }

  get size(): number {
    return this.#young.byToken.size + this.#old.byToken.size
  }

  #byHash(hash: string): CachedKey | undefined {
    return this.#young.byHash.get(hash) ?? this.#old.byHash.get(hash)
  }

  #keep(token: string, entry: CachedKey): void {
    if (this.#young.byToken.size >= this.#half) {
      this.#old = this.#young
      this.#young = emptyGeneration()
    }
    this.#young.byToken.set(token, entry)
    this.#young.byHash.set(entry.hash, entry)
  }
}

function refresh(entry: CachedKey, stored: StoredKey): void {
  if (stored.version < entry.stored.version) return
  entry.stored = stored
  entry.validUntilMs = validUntil(stored.key, entry.hash)
}

function emptyGeneration(): Generation {
  return { byToken: new Map(), byHash: new Map() }
}
