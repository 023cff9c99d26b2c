/**
 * Draws of one seed: whole numbers, by arithmetic of 32 bits alone, so that they are the same on any machine and any Node
 * (mulberry32).
 */
export class Draws {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A whole number from 0 on below a bound, which is 2^21 at most. */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    // Exact: the product stays below 2^53.
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) * bound) / 2 ** 32)
  }

  /** A whole number from one to another, both included. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1)
  }

  /** `true` once in so many times, on average. */
  onceIn(times: number): boolean {
    return this.below(times) === 0
  }

  oneOf<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)]
    if (items.length === 0) throw new Error('nothing to draw from')
    return item as Item
  }

  /** One of several by their weights. */
  weighted<Item>(items: readonly (readonly [weight: number, item: Item])[]): Item {
    let left = this.below(items.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, item] of items) if ((left -= weight) < 0) return item
    throw new Error('nothing to draw from')
  }
}
