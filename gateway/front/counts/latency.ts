/**
 * The buckets of a histogram of latencies, two to each doubling: the first one ends at 2 ^ `power` microseconds, the last
 * one has no end.
 */
export type Scale = Readonly<{ power: number; size: number }>

/** From 64 µs to 393 ms. */
export const ownScale: Scale = { power: 6, size: 27 }

/** From 0.5 ms to 16.8 s. */
export const upstreamScale: Scale = { power: 9, size: 32 }

const longestMicros = 2 ** 31 - 1

/** The bucket of a latency: the two highest bits of its microseconds. */
export function bucketOf({ power, size }: Scale, milliseconds: number): number {
  const micros = Math.min(milliseconds * 1_000, longestMicros) | 0
  if (micros < 1 << power) return 0
  const top = 31 - Math.clz32(micros)
  const bucket = 2 * (top - power) + ((micros >>> (top - 1)) & 1) + 1
  return bucket < size ? bucket : size - 1
}

/** The least latency of a bucket, in milliseconds. */
export function leastOf({ power }: Scale, bucket: number): number {
  if (bucket === 0) return 0
  const steps = bucket - 1
  return (2 ** (power + (steps >> 1)) * (steps % 2 === 1 ? 1.5 : 1)) / 1_000
}

/** Latencies in milliseconds, as programs get them. */
export type LatencyView = Readonly<{ count: number; mean: number; p50: number; p99: number }>

/** The view of a histogram; `null` if it is empty. */
export function latencyView(
  scale: Scale,
  counts: ArrayLike<number>,
  first: number,
  sumMs: number,
): LatencyView | null {
  let count = 0
  for (let i = 0; i < scale.size; i++) count += counts[first + i] ?? 0
  if (count === 0) return null
  const at = (share: number): number => rounded(latencyAt(scale, counts, first, count * share))
  return { count, mean: rounded(sumMs / count), p50: at(0.5), p99: at(0.99) }
}

/** The latency within which a share of a histogram's was, in milliseconds; `undefined` if it is empty. */
export function latencyWithin(
  scale: Scale,
  counts: readonly number[],
  share: number,
): number | undefined {
  const all = counts.reduce((sum, count) => sum + count, 0)
  return all === 0 ? undefined : rounded(latencyAt(scale, counts, 0, all * share))
}

/** The latency of a rank: inside its bucket by the rank's place there; for the last bucket, its least latency. */
function latencyAt(scale: Scale, counts: ArrayLike<number>, first: number, share: number): number {
  const rank = Math.max(1, Math.ceil(share))
  let below = 0
  let bucket = 0
  while (bucket < scale.size - 1 && below + (counts[first + bucket] ?? 0) < rank) {
    below += counts[first + bucket] ?? 0
    bucket++
  }
  const least = leastOf(scale, bucket)
  if (bucket === scale.size - 1) return least
  const part = (rank - below - 0.5) / (counts[first + bucket] ?? 1)
  return least + (leastOf(scale, bucket + 1) - least) * part
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}
