import { windows, type Window } from '../../../shared/windows.ts'

/** Points by the books, and by how many fewer or more the store may have, because it has lost writes. */
export type Entry = { used: number; fewer: number; more: number }

/** The most windows of a kind that are kept: answers to requests of earlier ones may still come. */
const mostWindows = 6

/** The books of one set of counters: the points of each window, by its number. */
export class Count {
  readonly #entries = windows.map(() => new Entries(mostWindows))

  at({ index }: Window, number: number): Entry {
    const entries = this.#entries[index]
    if (!entries) throw new Error('no such window')
    return entries.at(number)
  }

  /** All windows are empty. */
  clear(): void {
    this.#entries.forEach((entries) => entries.clear())
  }

  clearWindow({ index }: Window): void {
    this.#entries[index]?.clear()
  }
}

/** Points by numbers, of windows or days. */
export class Entries {
  readonly #most: number
  readonly #entries = new Map<number, Entry>()

  constructor(most: number) {
    this.#most = most
  }

  at(number: number): Entry {
    const present = this.#entries.get(number)
    if (present) return present
    const entry = { used: 0, fewer: 0, more: 0 }
    if (this.#entries.size >= this.#most) {
      const earliest = Math.min(...this.#entries.keys())
      // Of a forgotten one nobody can tell.
      if (number < earliest) return { used: 0, fewer: Infinity, more: Infinity }
      this.#entries.delete(earliest)
    }
    this.#entries.set(number, entry)
    return entry
  }

  get all(): Iterable<Entry> {
    return this.#entries.values()
  }

  clear(): void {
    this.#entries.clear()
  }
}

/**
 * Adds points, or takes some back: never below 0. A store that has lost points can't take back more than it has, and may get
 * the others again afterwards.
 */
export function add(entry: Entry, points: number): void {
  if (points < 0 && entry.fewer > 0) entry.more -= points
  entry.used = Math.max(0, entry.used + points)
}

/** The store may have fewer or more points by as many. */
export function widen(entry: Entry, points: number): void {
  entry.fewer += points
  entry.more += points
}

/** Nobody can tell what the store has. */
export function blur(entry: Entry): void {
  entry.fewer = entry.more = Infinity
}

/** Whether the store's points are what they have to be. */
export function agrees({ used, fewer, more }: Entry, points: number): boolean {
  return points >= used - fewer && points <= used + more
}
