/**
 * A map that forgets what was not used for longest, half of it at a time: what is used moves to the
 * young half, and when that is full, the old one goes. Cheaper than keeping an exact order.
 */
export class BoundedMap<Value> {
  readonly #half: number
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()

  constructor(size: number) {
    this.#half = Math.max(1, Math.floor(size / 2))
  }

  get(name: string): Value | undefined {
    const young = this.#young.get(name)
    if (young !== undefined) return young
    const old = this.#old.get(name)
    if (old !== undefined) this.set(name, old)
    return old
  }

  set(name: string, value: Value): void {
    if (this.#young.size >= this.#half && !this.#young.has(name)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(name, value)
  }

  delete(name: string): void {
    this.#young.delete(name)
    this.#old.delete(name)
  }
}
