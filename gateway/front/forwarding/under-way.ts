/** Counts requests or attempts that have begun and not ended. */
export class UnderWay {
  #count = 0
  #onNone: (() => void) | undefined

  get count(): number {
    return this.#count
  }

  began(): void {
    this.#count++
  }

  ended(): void {
    if (--this.#count === 0) this.#onNone?.()
  }

  /** Resolves when none is under way. Only one caller may wait at a time. */
  whenNone(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => (this.#onNone = resolve))
  }
}
