import { readerOf, Type, type Static } from '../../../shared/schema.ts'
import { fineBounds, Histogram } from '../counts/histogram.ts'
import type { Measure } from './progress.ts'

/** The answers of one side of a swap in a round. */
export class SideCounts {
  requests = 0
  failures = 0
  readonly times = new Histogram(fineBounds)
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
    if (ms !== undefined) this.times.add(ms)
  }

  /** Adds the counts of another process. */
  merge(other: SentCounts): void {
    this.requests += other.requests
    this.failures += other.failures
    this.times.merge(other.times)
    other.callers.forEach((caller) => this.callers.add(caller))
    other.failed.forEach((caller) => this.failed.add(caller))
  }

  get failureShare(): number {
    return this.requests === 0 ? 0 : this.failures / this.requests
  }

  get measure(): Measure {
    return { requests: this.requests, failures: this.failures, p95Ms: this.times.within(0.95) }
  }
}

/** Both sides of a swap in a round. */
export class RoundCounts {
  readonly old = new SideCounts()
  readonly new = new SideCounts()

  toText(): string {
    return JSON.stringify([this.old, this.new].map(sent))
  }
}

/** The sums of counts that processes have sent. A damaged text counts nothing. */
export function sumOf(texts: readonly string[]): RoundCounts {
  const sum = new RoundCounts()
  for (const text of texts) {
    const [old, next] = sentFrom(text) ?? []
    if (old) sum.old.merge(old)
    if (next) sum.new.merge(next)
  }
  return sum
}

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const texts = Type.Array(Type.String())
const sentSchema = Type.Object({
  requests: count,
  failures: count,
  times: Type.Array(count),
  callers: texts,
  failed: texts,
})
const sentFrom = readerOf(Type.Tuple([sentSchema, sentSchema]))

/** The counts of a side as a process sends them. */
type SentCounts = Readonly<Static<typeof sentSchema>>

function sent({ requests, failures, times, callers, failed }: SideCounts): SentCounts {
  return { requests, failures, times: times.counts, callers: [...callers], failed: [...failed] }
}
