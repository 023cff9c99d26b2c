import { windowNames } from '../../../shared/windows.ts'
import type { Caller } from '../keys/caller.ts'

/** The cause of a refusal: a window of the limits, a ban, or anything else. */
export const refusers = [...windowNames, 'ban', 'other'] as const

export type Refuser = (typeof refusers)[number]

/** The kept pairs of a key and what refused it. */
const keptPairs = 1_024

/** The seconds that count. */
const seconds = 60

const mostOfSecond = 65_535

/** How many pairs are looked at to find one to forget, when all places are taken. */
const looks = 16

/** The refusals of one key in the last minute. */
export type RefusedKey = Readonly<{ caller: Caller; by: Refuser; count: number }>

/**
 * Counts the refusals of the last minute by key, in 0.15 MB that is made once. When more pairs than it keeps were refused
 * in a minute, those that were refused least are forgotten.
 */
export class RefusedKeys {
  readonly #places = refusers.map(() => new Map<string, number>())
  readonly #callers: (Caller | undefined)[] = new Array<undefined>(keptPairs).fill(undefined)
  readonly #by = new Uint8Array(keptPairs)
  /** By pair and by second. */
  readonly #counts = new Uint16Array(keptPairs * seconds)
  readonly #totals = new Uint32Array(keptPairs)
  #second = 0
  #size = 0
  #hand = 0

  /** Counts a refusal in a second; seconds may not fall. `by` is a place in `refusers`. */
  count(caller: Caller, by: number, second: number): void {
    if (second !== this.#second) this.#turn(second)
    const pair = this.#places[by]?.get(caller.id) ?? this.#take(caller, by)
    // The caller of a key that has changed since is another one.
    this.#callers[pair] = caller
    const index = pair * seconds + (second % seconds)
    const count = this.#counts[index] ?? 0
    if (count === mostOfSecond) return
    this.#counts[index] = count + 1
    this.#totals[pair] = (this.#totals[pair] ?? 0) + 1
  }

  /** The keys that were refused most, up to a second. */
  top(most: number, second: number): readonly RefusedKey[] {
    if (second > this.#second) this.#turn(second)
    const all: RefusedKey[] = []
    for (let pair = 0; pair < this.#size; pair++) {
      const count = this.#totals[pair] ?? 0
      const caller = this.#callers[pair]
      const by = refusers[this.#by[pair] ?? 0]
      if (count > 0 && caller && by) all.push({ caller, by, count })
    }
    return all.sort((a, b) => b.count - a.count).slice(0, most)
  }

  /** Forgets the seconds that are a minute old. */
  #turn(second: number): void {
    const first = Math.max(this.#second + 1, second - seconds + 1)
    for (let number = first; number <= second; number++) {
      for (let pair = 0; pair < this.#size; pair++) {
        const index = pair * seconds + (number % seconds)
        const count = this.#counts[index] ?? 0
        if (count === 0) continue
        this.#counts[index] = 0
        this.#totals[pair] = (this.#totals[pair] ?? 0) - count
      }
    }
    this.#second = second
  }

  #take(caller: Caller, by: number): number {
    const pair = this.#size < keptPairs ? this.#size++ : this.#forgetOne()
    this.#places[by]?.set(caller.id, pair)
    this.#by[pair] = by
    return pair
  }

  #forgetOne(): number {
    let least = this.#hand
    for (let look = 0; look < looks; look++) {
      const pair = (this.#hand + look) % keptPairs
      if ((this.#totals[pair] ?? 0) < (this.#totals[least] ?? 0)) least = pair
    }
    this.#hand = (this.#hand + looks) % keptPairs
    this.#places[this.#by[least] ?? 0]?.delete(this.#callers[least]?.id ?? '')
    this.#counts.fill(0, least * seconds, (least + 1) * seconds)
    this.#totals[least] = 0
    return least
  }
}
