import { keptRefusal, type EndedBadly, type KeptRefusal } from './kept-refusal.ts'
import { LatestFailures } from './latest-failures.ts'
import { hashOf, KeptChunk } from './refusal-chunk.ts'
import { chunksKept, chunkSize, keptRefusals, mostFound } from './refusal-store.ts'

/** Keeps the latest refused and failed answers of this gateway, for `explain`. Each has a number, counted from 1 since the start. */
export class RecentRefusals {
  /** By the place of each chunk among those that are kept. */
  readonly #chunks: KeptChunk[] = []
  readonly failures = new LatestFailures()
  readonly #beganAtMs: number
  #latest = 0

  /** `beganAtMs` is the time from which on all are kept. */
  constructor(beganAtMs: number) {
    this.#beganAtMs = beganAtMs
  }

  get count(): number {
    return Math.min(this.#latest, keptRefusals)
  }

  /** The number of the latest one. */
  get number(): number {
    return this.#latest
  }

  /** The time since which all refused and failed answers are kept. */
  get sinceMs(): number {
    if (this.#latest < keptRefusals) return this.#beganAtMs
    return this.timeOf(this.#latest - keptRefusals + 1)
  }

  /** Keeps one answer, in place of the oldest ones if there are too many. */
  keep(ended: EndedBadly): void {
    const place = placeOf(this.#latest++)
    const chunk = (this.#chunks[place.chunk] ??= new KeptChunk())
    if (place.of === 0) chunk.clear()
    const answer = keptRefusal(ended)
    chunk.add(answer)
    this.failures.count(answer)
  }

  /** The latest answers with an id, the newest first. */
  find(id: string): readonly KeptRefusal[] {
    return this.findLike(hashOf(id), (each) => each === id)
  }

  /** The latest answers whose ids have a hash and pass a check, the newest first. */
  findLike(hash: number, isWanted: (id: string) => boolean): readonly KeptRefusal[] {
    const matches: KeptRefusal[] = []
    const oldest = this.#latest - this.count
    for (let number = this.#latest; number > oldest && matches.length < mostFound; number--) {
      const [chunk, place] = this.chunkOf(number)
      const answer = chunk.hashAt(place) === hash ? chunk.at(place) : undefined
      if (answer && isWanted(answer.id)) matches.push(answer)
    }
    return matches
  }

  /** The answers after the one with a number, up to another one, as far as they are kept; the oldest first. */
  between(after: number, last: number): readonly KeptRefusal[] {
    const first = Math.max(after, this.#latest - this.count) + 1
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => {
      const [chunk, place] = this.chunkOf(first + i)
      return chunk.at(place)
    })
  }

  /** The time of the answer with a number. */
  timeOf(number: number): number {
    const [chunk, place] = this.chunkOf(number)
    return chunk.timeAt(place)
  }

  /** The chunk of the answer with a number, and its place there. */
  chunkOf(number: number): readonly [chunk: KeptChunk, place: number] {
    const { chunk: index, of } = placeOf(number - 1)
    const chunk = this.#chunks[index]
    if (chunk) return [chunk, of]
    throw new Error('nothing is kept at this place yet')
  }
}

/** The place of the chunk of an answer, counted from 0, and that of the answer in it. */
function placeOf(index: number): Readonly<{ chunk: number; of: number }> {
  return { chunk: Math.floor(index / chunkSize) % chunksKept, of: index % chunkSize }
}
