/** Whether a thing is to be counted, and whether the store may have forgotten that it has. */
export type Note = 'first' | 'again' | 'forgotten'

/** Things that count once, by their names. A store that has lost writes may count one again. */
export class Once {
  /** The day of each. */
  readonly #counted = new Map<string, number>()
  readonly #lost = new Set<string>()
  readonly #rememberedDays: number

  /** After those days a store may have forgotten a thing. */
  constructor(rememberedDays = Infinity) {
    this.#rememberedDays = rememberedDays
  }

  /** Whether it is to be counted, and whether the store may have forgotten that it has. */
  note(name: string, day: number): Note {
    const before = this.#counted.get(name)
    if (before !== undefined && !this.#lost.delete(name) && day - before <= this.#rememberedDays) {
      return 'again'
    }
    this.#counted.set(name, day)
    return before === undefined ? 'first' : 'forgotten'
  }

  /** The store has lost writes: it may have forgotten any of them. */
  forget(): void {
    for (const name of this.#counted.keys()) this.#lost.add(name)
  }
}
