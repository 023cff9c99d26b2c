import { nameOfPart, type LimitedPart } from '../../../gateway/front/limits/places.ts'

/** The requests of one gateway that are under way in a part of a quota. */
type UnderWay = {
  /** By a decision of the store, and without it. */
  byStore: number
  alone: number
  /** Whether the store has lost what it knew, and this gateway hasn't told it anything since. */
  isLost: boolean
}

/** The requests of one gateway that are under way, by who has let them in. */
export class PlaceBook {
  readonly #parts = new Map<string, UnderWay>()

  /** Every part of a quota that a request has taken a place in. */
  begin(quota: string, places: readonly LimitedPart[], isAlone: boolean): () => void {
    const parts = places.map(({ part }) => this.of(quota, nameOfPart(part)))
    const kind = isAlone ? 'alone' : 'byStore'
    for (const each of parts) each[kind]++
    return () => parts.forEach((each) => each[kind]--)
  }

  of(quota: string, part: string): UnderWay {
    const name = `${quota} ${part}`
    const present = this.#parts.get(name) ?? { byStore: 0, alone: 0, isLost: false }
    this.#parts.set(name, present)
    return present
  }

  /** The store has lost writes. */
  lose(): void {
    for (const part of this.#parts.values()) part.isLost = true
  }

  /** The store has heard of parts. */
  hear(quota: string, parts: Iterable<string>): void {
    for (const part of parts) this.of(quota, part).isLost = false
  }
}
