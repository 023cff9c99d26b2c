import { Histogram, upstreamBounds, within } from '../../front/counts/histogram.ts'

/** One difference of a route: how often it was found, and in which requests, for some. */
export type CountedBreak = Readonly<{
  what: string
  times: number
  examples: readonly Example[]
}>

/**
 * The id of a caller's request, its method and its path at the backend without the query, and the id of the same request to
 * the would-be backend.
 */
export type Example = Readonly<{ request: string; method: string; path: string; mirrored: string }>

/** The counts of one route, as one process tells them. Times are by the buckets of `upstreamBounds`. */
export type RouteCounts = Readonly<{
  route: string
  compared: number
  same: number
  breaks: readonly CountedBreak[]
  before: readonly number[]
  after: readonly number[]
}>

/** The most differences of a route that are kept apart, and the most examples of each. */
const mostBreaks = 20
export const mostExamples = 5

/** The longest sentence about a difference; a media type may be long. */
const longestBreak = 200

/** The counts of one route, in this process or added up. */
export class RouteTally {
  #compared = 0
  #same = 0
  readonly #breaks = new Map<string, { times: number; examples: Example[] }>()
  readonly #before = new Histogram(upstreamBounds)
  readonly #after = new Histogram(upstreamBounds)

  /** Counts one comparison, with the times to the first byte; `undefined` where no answer came. */
  add(breaks: readonly string[], example: Example, beforeMs: number, afterMs?: number): void {
    this.#compared++
    if (breaks.length === 0) this.#same++
    for (const what of breaks) {
      this.#addBreak({ what: what.slice(0, longestBreak), times: 1, examples: [example] })
    }
    this.#before.add(beforeMs)
    if (afterMs !== undefined) this.#after.add(afterMs)
  }

  /** Adds what another process has counted. */
  merge({ compared, same, breaks, before, after }: RouteCounts): void {
    this.#compared += compared
    this.#same += same
    for (const difference of breaks) this.#addBreak(difference)
    this.#before.merge(before)
    this.#after.merge(after)
  }

  counts(route: string): RouteCounts {
    const breaks = [...this.#breaks].map(([what, { times, examples }]) => ({
      what,
      times,
      examples: [...examples],
    }))
    const [before, after] = [[...this.#before.counts], [...this.#after.counts]]
    return { route, compared: this.#compared, same: this.#same, breaks, before, after }
  }

  #addBreak({ what, times, examples }: CountedBreak): void {
    const counted = this.#breaks.get(what)
    if (counted) {
      counted.times += times
      counted.examples = [...counted.examples, ...examples].slice(0, mostExamples)
    } else if (this.#breaks.size < mostBreaks) {
      this.#breaks.set(what, { times, examples: examples.slice(0, mostExamples) })
    }
  }
}

/** Times as programs are told of them; `null` if there are none. */
export function timesView(buckets: readonly number[]): { p50: number; p95: number } | null {
  const p50 = within(upstreamBounds, buckets, 0.5)
  const p95 = within(upstreamBounds, buckets, 0.95)
  return p50 === null || p95 === null ? null : { p50, p95 }
}
