/** Whether a thing is to be counted, and whether the store may have forgotten that it has. */
export type Note = 'first' | 'again' | 'forgotten'

/** Things that count once, by their names. A store that has lost writes may count one again. */
export class Once {
  readonly #counted = new Set<string>()
  readonly #lost = new Set<string>()

  note(name: string): Note {
    if (this.#lost.delete(name)) return 'forgotten'
    if (this.#counted.has(name)) return 'again'
    this.#counted.add(name)
    return 'first'
  }

  /** The store has lost writes: it may have forgotten any of them. */
  forget(): void {
    for (const name of this.#counted) this.#lost.add(name)
  }
}
