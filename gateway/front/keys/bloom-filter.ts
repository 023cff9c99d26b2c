const bitsPerText = 20
const probes = 7

/**
 * Remembers texts in twenty bits each. A text that was added is always found; one that wasn't is found once in
 * ten thousand times.
 */
export class BloomFilter {
  readonly #bits: Uint32Array
  readonly #capacity: number
  #count = 0

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#bits = new Uint32Array(Math.ceil((capacity * bitsPerText) / 32))
  }

  /** Whether one more text would raise the rate of false positives above that. */
  get isFull(): boolean {
    return this.#count >= this.#capacity
  }

  /** Adds a text; a repeated one takes no more room. */
  add(text: string): void {
    const [first, second] = numbersOf(text)
    let isNew = false
    for (let probe = 0; probe < probes; probe++) {
      const bit = this.#bitAt(first, second, probe)
      const before = this.#bits[bit >>> 5] ?? 0
      const after = (before | (1 << (bit & 31))) >>> 0
      isNew ||= after !== before
      this.#bits[bit >>> 5] = after
    }
    if (isNew) this.#count++
  }

  mayHave(text: string): boolean {
    const [first, second] = numbersOf(text)
    for (let probe = 0; probe < probes; probe++) {
      const bit = this.#bitAt(first, second, probe)
      if (((this.#bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false
    }
    return true
  }

  #bitAt(first: number, second: number, probe: number): number {
    return ((first + Math.imul(second, probe)) >>> 0) % (this.#bits.length * 32)
  }
}

/** Two independent numbers of a text, from which all probes are made. */
function numbersOf(text: string): [number, number] {
  let first = 0x811c9dc5
  let second = 0x9747b28c
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    first = Math.imul(first ^ code, 0x01000193)
    second = Math.imul(second ^ code, 0x5bd1e995)
    second ^= second >>> 13
  }
  return [first, second | 1]
}
