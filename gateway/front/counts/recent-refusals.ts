import {
  blockSize,
  hashOf,
  RefusalBlock,
  type EndedBadly,
  type KeptRefusal,
} from './refusal-block.ts'

/** The number of answers that are kept. */
export const keptRefusals = 20_000

/** The most answers with one id that are found: callers choose ids, so there may be many. */
export const mostFound = 20

/**
 * Keeps the latest refused and failed answers of this gateway, for `explain`. Slots are made once: objects made for each
 * refusal would outlive it, and be left to the full collections. They are made when they are needed: 20,000 at once, at
 * the start, cause a collection in the middle of the first requests, and V8 then takes 3 µs more for each request ever
 * after (in `process.nextTick`).
 */
export class RecentRefusals {
  readonly #size: number
  readonly #blocks: RefusalBlock[] = []
  #next = 0
  #count = 0
  #latest = 0

  readonly #beganAtMs: number

  /** `size` is a multiple of a thousand; `beganAtMs` the time from which on all are kept. */
  constructor(beganAtMs: number, size = keptRefusals) {
    this.#beganAtMs = beganAtMs
    this.#size = size
  }

  get count(): number {
    return this.#count
  }

  /** The number of the latest one, counted from 1 since the start. */
  get number(): number {
    return this.#latest
  }

  /** The time since which all refused and failed answers are kept. */
  get sinceMs(): number {
    return this.#count < this.#size
      ? this.#beganAtMs
      : this.#blockOf(this.#next).timeAt(this.#next % blockSize)
  }

  /** Keeps one answer and its request's path without its query, in place of the oldest if all slots are taken. */
  keep(ended: EndedBadly, path: string): void {
    const index = this.#next
    this.#next = (index + 1) % this.#size
    if (this.#count < this.#size) this.#count++
    this.#latest++
    const block = (this.#blocks[Math.floor(index / blockSize)] ??= new RefusalBlock())
    block.write(index % blockSize, ended, path)
  }

  /** The latest answers with an id, the newest first. */
  find(id: string): readonly KeptRefusal[] {
    return this.findLike(hashOf(id), (each) => each === id)
  }

  /** The latest answers whose ids have a hash and pass a check, the newest first. */
  findLike(hash: number, isWanted: (id: string) => boolean): readonly KeptRefusal[] {
    const found: KeptRefusal[] = []
    for (let back = 1; back <= this.#count && found.length < mostFound; back++) {
      const index = this.#indexBack(back)
      const [block, slot] = [this.#blockOf(index), index % blockSize]
      if (block.hashAt(slot) === hash && isWanted(block.idAt(slot))) found.push(block.read(slot))
    }
    return found
  }

  /** The latest answers after the one with a number, the oldest first. */
  after(number: number, most: number): readonly KeptRefusal[] {
    const count = Math.min(this.#latest - number, most, this.#count)
    const found: KeptRefusal[] = []
    for (let back = count; back >= 1; back--) {
      const index = this.#indexBack(back)
      found.push(this.#blockOf(index).read(index % blockSize))
    }
    return found
  }

  /** The place of the latest answer for 1, of the one before for 2, and so on. */
  #indexBack(back: number): number {
    return (this.#next - back + this.#size) % this.#size
  }

  #blockOf(index: number): RefusalBlock {
    const block = this.#blocks[Math.floor(index / blockSize)]
    if (block) return block
    throw new Error('nothing is kept in this slot yet')
  }
}
