/** The path of a setting: names, and indexes in lists from 0. */
export type Path = readonly (string | number)[]

/**
 * A mistake in a file, at an offset of its text. A warning doesn't keep the file from being used. `path` is the setting that it
 * is about, where more than the offset says so: a section begins where its first setting does. The sentence is made when it is
 * told, which costs more than finding the mistake.
 */
export type Mistake = Readonly<{
  offset: number
  sentence: () => string
  isWarning?: boolean
  path?: Path
}>

/** The most mistakes that are told, and the most warnings: nobody reads more of them at once. */
export const mostMistakes = 100

/** The mistakes and warnings of a file. It keeps the first ones in the file's order, and counts the others. */
export class Mistakes {
  readonly mistakes = new Earliest()
  readonly warnings = new Earliest()
  /** The offsets of all mistakes. */
  readonly offsets = new Set<number>()
  #read: ReadonlySet<number> = new Set()

  /** Begins with those that the reading finds. They cause further ones at their offsets, which aren't worth telling. */
  constructor(read: Iterable<Mistake> = []) {
    this.add(read)
    this.#read = new Set(this.offsets)
  }

  add(found: Iterable<Mistake>): void {
    for (const mistake of found) {
      if (this.#read.has(mistake.offset)) continue
      if (!mistake.isWarning) this.offsets.add(mistake.offset)
      ;(mistake.isWarning ? this.warnings : this.mistakes).add(mistake)
    }
  }
}

/** The mistakes of one kind with the least offsets. */
class Earliest {
  #kept: Mistake[] = []
  #count = 0

  add(mistake: Mistake): void {
    this.#count++
    this.#kept.push(mistake)
    if (this.#kept.length >= 10 * mostMistakes) this.#kept = this.first
  }

  /** Those that are told, in the order of the file. */
  get first(): Mistake[] {
    return this.#kept.toSorted((a, b) => a.offset - b.offset).slice(0, mostMistakes)
  }

  /** The number of those that aren't told. */
  get more(): number {
    return Math.max(0, this.#count - mostMistakes)
  }
}
