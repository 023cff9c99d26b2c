/**
 * A map of limited size: it keeps at least the latest `size` entries, and at most twice as many. A used entry moves to
 * the young half; when that is full, the old half is dropped. This is cheaper than an exact order.
 */
export class BoundedMap<Value> {
  readonly #size: number
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()

  constructor(size: number) {
    this.#size = size
  }

  get(name: string): Value | undefined {
    const young = this.#young.get(name)
    if (young !== undefined) return young
    const old = this.#old.get(name)
    if (old !== undefined) this.set(name, old)
    return old
  }

  set(name: string, value: Value): void {
    if (this.#young.size >= this.#size && !this.#young.has(name)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(name, value)
  }

  /** All entries, those that were used last behind. */
  *entries(): Generator<[name: string, value: Value]> {
    for (const entry of this.#old) if (!this.#young.has(entry[0])) yield entry
    yield* this.#young
  }

  delete(name: string): void {
    this.#young.delete(name)
    this.#old.delete(name)
  }
}
