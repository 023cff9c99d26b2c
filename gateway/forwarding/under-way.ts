/** How many of something have begun and not ended, and when none is left. */
export class UnderWay {
  #count = 0
  #noneLeft: (() => void) | undefined

  get count(): number {
    return this.#count
  }

  began(): void {
    this.#count++
  }

  ended(): void {
    if (--this.#count === 0) this.#noneLeft?.()
  }

  /** Resolves when none is left; for one who waits. */
  none(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => (this.#noneLeft = resolve))
  }
}
