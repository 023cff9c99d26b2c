/**
 * The upper bounds of a histogram's buckets, in milliseconds. One more bucket, behind the last bound, has no end. Bounds
 * differ by what they cost: each one is a line of a route's metrics, or a column of each second of the live figures.
 */
export type Bounds = readonly number[]

/** Those of the metrics. An alert is exact at a bound. */
export const metricBounds: Bounds = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000,
]

/** Two to each doubling: of the gateway's own time, to 371 ms, and of a backend's, to 16.8 s. */
export const ownBounds = growing(0.064, Math.SQRT2, 26)
export const upstreamBounds = growing(0.512, Math.SQRT2, 31)

/** For times that are compared by their ratio: exact to 10 %, to 2 minutes. */
export const fineBounds = growing(0.5, 1.1, 130)

function growing(leastMs: number, growth: number, count: number): Bounds {
  return Array.from({ length: count }, (_none, i) => leastMs * growth ** i)
}

/** The bucket of a duration. Takes 12 ns, two or three times a request. */
export function bucketOf(bounds: Bounds, milliseconds: number): number {
  let low = 0
  let high = bounds.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (milliseconds > (bounds[middle] ?? Infinity)) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The duration within which a share of those in the buckets from `first` on was, in milliseconds: inside its bucket by the
 * rank's place there; behind the last bound, that bound. `null` if there are none.
 */
export function within(
  bounds: Bounds,
  counts: ArrayLike<number>,
  share: number,
  first = 0,
): number | null {
  const all = sumOf(bounds, counts, first)
  if (all === 0) return null
  const rank = Math.max(1, Math.ceil(all * share))
  let below = 0
  let bucket = 0
  while (bucket < bounds.length && below + (counts[first + bucket] ?? 0) < rank) {
    below += counts[first + bucket] ?? 0
    bucket++
  }
  const least = bounds[bucket - 1] ?? 0
  const most = bounds[bucket] ?? least
  const part = (rank - below - 0.5) / (counts[first + bucket] ?? 1)
  return rounded(least + (most - least) * part)
}

function sumOf(bounds: Bounds, counts: ArrayLike<number>, first: number): number {
  let sum = 0
  for (let i = 0; i <= bounds.length; i++) sum += counts[first + i] ?? 0
  return sum
}

/** Durations, counted by bucket. */
export class Histogram {
  readonly bounds: Bounds
  readonly counts: number[]
  sumMs = 0

  constructor(bounds: Bounds) {
    this.bounds = bounds
    this.counts = new Array<number>(bounds.length + 1).fill(0)
  }

  add(milliseconds: number): void {
    const bucket = bucketOf(this.bounds, milliseconds)
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1
    this.sumMs += milliseconds
  }

  /** Adds the buckets that another process has counted. */
  merge(counts: readonly number[]): void {
    counts.forEach((count, bucket) => {
      if (bucket in this.counts) this.counts[bucket] = (this.counts[bucket] ?? 0) + count
    })
  }

  within(share: number): number | null {
    return within(this.bounds, this.counts, share)
  }
}

/** Latencies in milliseconds, as programs get them. */
export type LatencyView = Readonly<{ count: number; mean: number; p50: number; p99: number }>

/** The view of the buckets from `first` on; `null` if they are empty. */
export function latencyView(
  bounds: Bounds,
  counts: ArrayLike<number>,
  first: number,
  sumMs: number,
): LatencyView | null {
  const count = sumOf(bounds, counts, first)
  const at = (share: number): number => within(bounds, counts, share, first) ?? 0
  return count === 0 ? null : { count, mean: rounded(sumMs / count), p50: at(0.5), p99: at(0.99) }
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}
