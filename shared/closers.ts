/** What was opened, in its order. Closing goes the other way: nothing closes before what was opened on top of it. */
export class Closers {
  readonly #all: (() => unknown)[] = []

  /** Notes how to close what was opened just now. */
  add(close: () => unknown): void {
    this.#all.push(close)
  }

  async close(): Promise<void> {
    for (const close of this.#all.splice(0).reverse()) await close()
  }
}
