import type { KeptRefusal } from './kept-refusal.ts'
import {
  blockSize,
  hashOf,
  RefusalBlock,
  type EndedBadly,
  type RefusalColumns,
} from './refusal-block.ts'
import { keptRefusals, mostFound } from './refusal-store.ts'

/**
 * Keeps the latest refused and failed answers of this gateway, for `explain`. Slots are made once: objects made for each
 * refusal would outlive it, and be left to the full collections. They are made when they are needed: 20,000 at once, at
 * the start, cause a collection in the middle of the first requests, and V8 then takes 3 µs more for each request ever
 * after (in `process.nextTick`).
 */
export class RecentRefusals {
  readonly #size: number
  readonly #blocks: RefusalBlock[] = []
  #latest = 0

  readonly #beganAtMs: number

  /** `size` is a multiple of a thousand; `beganAtMs` the time from which on all are kept. */
  constructor(beganAtMs: number, size = keptRefusals) {
    this.#beganAtMs = beganAtMs
    this.#size = size
  }

  get count(): number {
    return Math.min(this.#latest, this.#size)
  }

  /** The number of the latest one, counted from 1 since the start. */
  get number(): number {
    return this.#latest
  }

  /** The time since which all refused and failed answers are kept. */
  get sinceMs(): number {
    if (this.#latest < this.#size) return this.#beganAtMs
    return this.timeOf(this.#latest - this.#size + 1)
  }

  /** Keeps one answer, in place of the oldest if all slots are taken. */
  keep(ended: EndedBadly): void {
    const index = this.#latest++ % this.#size
    const block = (this.#blocks[Math.floor(index / blockSize)] ??= new RefusalBlock())
    block.write(index % blockSize, ended)
  }

  /** The latest answers with an id, the newest first. */
  find(id: string): readonly KeptRefusal[] {
    return this.findLike(hashOf(id), (each) => each === id)
  }

  /** The latest answers whose ids have a hash and pass a check, the newest first. */
  findLike(hash: number, isWanted: (id: string) => boolean): readonly KeptRefusal[] {
    const matches: KeptRefusal[] = []
    const oldest = this.#latest - this.count
    for (let number = this.#latest; number > oldest && matches.length < mostFound; number--) {
      const [block, slot] = this.#placeOf(number)
      if (block.hashAt(slot) === hash && isWanted(block.idAt(slot))) matches.push(block.read(slot))
    }
    return matches
  }

  /** The answers after the one with a number, up to another one, as far as they are kept; the oldest first. */
  between(after: number, last: number): readonly KeptRefusal[] {
    const matches: KeptRefusal[] = []
    for (let number = Math.max(after, this.#latest - this.count) + 1; number <= last; number++) {
      const [block, slot] = this.#placeOf(number)
      matches.push(block.read(slot))
    }
    return matches
  }

  /** The time of the answer with a number. */
  timeOf(number: number): number {
    const [block, slot] = this.#placeOf(number)
    return block.timeAt(slot)
  }

  /** Kept answers from one number to another, all of one block, column by column. */
  columns(first: number, last: number): RefusalColumns {
    const [block, slot] = this.#placeOf(first)
    return block.columns(slot, slot + last - first + 1)
  }

  #placeOf(number: number): readonly [block: RefusalBlock, slot: number] {
    const index = (number - 1) % this.#size
    const block = this.#blocks[Math.floor(index / blockSize)]
    if (block) return [block, index % blockSize]
    throw new Error('nothing is kept in this slot yet')
  }
}
