import { Caller, stateOf } from './caller.ts'
import type { StoredKey } from './key.ts'

/**
 * The callers that a gateway has met lately, so that their requests cost no look-up and no hash. Only
 * tokens of keys that exist get in, so invented ones can neither fill it nor push others out.
 *
 * When it is full, a hand goes round like a clock's: what was used since it last came by stays, and
 * the first that was not makes room.
 */
export class CallerCache {
  readonly #size: number
  readonly #byToken = new Map<string, Caller>()
  /** By the id of their key. */
  readonly #byId = new Map<string, Caller>()
  #hand: Iterator<Caller, undefined> | undefined
  /** How many the hand has yet to come to in this round. */
  #left = 0

  constructor(size: number) {
    this.#size = size
  }

  /** The caller of a token, if it was met; whether it is valid is for the caller to see. */
  get(token: string): Caller | undefined {
    const caller = this.#byToken.get(token)
    if (caller) stateOf(caller).isRecent = true
    return caller
  }

  add(token: string, stored: StoredKey): Caller {
    // A look-up may be overtaken by news of a change, and by another look-up.
    this.update(stored)
    const known = this.#byToken.get(token)
    if (known) return known
    if (this.#byToken.size >= this.#size) this.#makeRoom()
    const caller = new Caller(inOnePiece(token), stored)
    this.#put(caller)
    return caller
  }

  /** Takes a change of a key to heart, for all of its tokens that are known here. */
  update(stored: StoredKey): void {
    const { key, version } = stored
    const first = this.#byId.get(key.id)
    if (!first || stateOf(first).version > version) return
    this.#byId.delete(key.id)
    for (let old: Caller | undefined = first; old; old = stateOf(old).nextOfKey) {
      const before = stateOf(old)
      const caller = new Caller(before.token, stored)
      const state = stateOf(caller)
      state.isRecent = before.isRecent
      state.dayCount = before.dayCount
      this.#put(caller)
    }
  }

  get size(): number {
    return this.#byToken.size
  }

  #put(caller: Caller): void {
    const state = stateOf(caller)
    state.nextOfKey = this.#byId.get(caller.id)
    this.#byToken.set(state.token, caller)
    this.#byId.set(caller.id, caller)
  }

  #makeRoom(): void {
    for (;;) {
      // What has come since the round began is not of it: else the hand would stay among the new ones.
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
    const { token, nextOfKey } = stateOf(caller)
    this.#byToken.delete(token)
    let before = this.#byId.get(caller.id)
    if (before === caller) {
      if (nextOfKey) this.#byId.set(caller.id, nextOfKey)
      else this.#byId.delete(caller.id)
      return
    }
    while (before) {
      const state = stateOf(before)
      if (state.nextOfKey === caller) {
        state.nextOfKey = nextOfKey
        return
      }
      before = state.nextOfKey
    }
  }
}

/** A part of a header line keeps the whole line in memory; its copy doesn't. */
function inOnePiece(token: string): string {
  return Buffer.from(token, 'latin1').toString('latin1')
}
