/** Closes parts in the opposite order of their opening: none before those that were opened on top of it. */
export class Closers {
  readonly #all: (() => unknown)[] = []

  /** Notes how to close the part that was opened just now. */
  add(close: () => unknown): void {
    this.#all.push(close)
  }

  async close(): Promise<void> {
    for (const close of this.#all.splice(0).reverse()) await close()
  }
}
