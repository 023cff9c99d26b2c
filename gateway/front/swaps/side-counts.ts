import type { Measure } from './progress.ts'

/** The bounds of buckets grow by this factor from half a millisecond: a p95 is exact to 10 %. */
const growth = 1.1
const leastMs = 0.5
const mostBucket = 130

/** The answers of one side of a swap in a round. */
export class SideCounts {
  requests = 0
  failures = 0
  /** The number of durations in each bucket. */
  readonly times: number[] = new Array<number>(mostBucket + 1).fill(0)
  /** Some of its callers, and some that have met failures: as many as are needed to judge. */
  readonly callers = new Set<string>()
  readonly failed = new Set<string>()

  /** Adds a request; without a duration if it took a second attempt. */
  add(caller: string, isFailure: boolean, ms: number | undefined, mostCallers: number): void {
    this.requests++
    if (this.callers.size < mostCallers) this.callers.add(caller)
    if (isFailure) {
      this.failures++
      if (this.failed.size < mostCallers) this.failed.add(caller)
    }
    if (ms === undefined) return
    const bucket = bucketOf(ms)
    this.times[bucket] = (this.times[bucket] ?? 0) + 1
  }

  /** Adds the counts of another process. */
  merge(other: SideCounts): void {
    this.requests += other.requests
    this.failures += other.failures
    other.times.forEach((count, i) => (this.times[i] = (this.times[i] ?? 0) + count))
    other.callers.forEach((caller) => this.callers.add(caller))
    other.failed.forEach((caller) => this.failed.add(caller))
  }

  get failureShare(): number {
    return this.requests === 0 ? 0 : this.failures / this.requests
  }

  /** The duration within which a share of the answers came; `null` without any. */
  within(share: number): number | null {
    const all = this.times.reduce((sum, count) => sum + count, 0)
    if (all === 0) return null
    let left = Math.ceil(all * share)
    const bucket = this.times.findIndex((count) => (left -= count) <= 0)
    return Math.round(leastMs * growth ** bucket * 10) / 10
  }

  get measure(): Measure {
    return { requests: this.requests, failures: this.failures, p95Ms: this.within(0.95) }
  }
}

function bucketOf(ms: number): number {
  if (ms <= leastMs) return 0
  return Math.min(mostBucket, Math.ceil(Math.log(ms / leastMs) / Math.log(growth)))
}

/** Both sides of a swap in a round. */
export class RoundCounts {
  readonly old = new SideCounts()
  readonly new = new SideCounts()

  merge(other: RoundCounts): void {
    this.old.merge(other.old)
    this.new.merge(other.new)
  }

  toText(): string {
    return JSON.stringify([this.old, this.new].map(plain))
  }
}

/** The sums of what processes told. What is damaged counts nothing. */
export function sumOf(told: readonly string[]): RoundCounts {
  const sum = new RoundCounts()
  for (const text of told) {
    const counts = countsFrom(text)
    if (counts) sum.merge(counts)
  }
  return sum
}

type Plain = Readonly<{
  requests: number
  failures: number
  times: readonly (readonly [bucket: number, count: number])[]
  callers: readonly string[]
  failed: readonly string[]
}>

function plain({ requests, failures, times, callers, failed }: SideCounts): Plain {
  const pairs = times.flatMap((count, bucket) => (count > 0 ? [[bucket, count] as const] : []))
  return { requests, failures, times: pairs, callers: [...callers], failed: [...failed] }
}

function countsFrom(text: string): RoundCounts | undefined {
  try {
    const [old, next] = JSON.parse(text) as [Plain, Plain]
    const counts = new RoundCounts()
    for (const [side, { requests, failures, times, callers, failed }] of [
      [counts.old, old],
      [counts.new, next],
    ] as const) {
      side.requests = wholeFrom(requests)
      side.failures = wholeFrom(failures)
      for (const [bucket, count] of times) {
        if (bucket in side.times) side.times[bucket] = wholeFrom(count)
      }
      for (const caller of callers) side.callers.add(String(caller))
      for (const caller of failed) side.failed.add(String(caller))
    }
    return counts
  } catch {
    return undefined
  }
}

function wholeFrom(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}
