import type { Clock } from '../../../shared/clock.ts'
import { bucketOf, ownBounds, upstreamBounds } from './histogram.ts'
import {
  backendFailedAt,
  countsOfRow,
  numbersOfRow,
  ownAt,
  SumRows,
  upstreamAt,
} from './sum-rows.ts'

/** The kept seconds and minutes. */
export const keptSeconds = 900
export const keptMinutes = 1_440

const noSecond = -Infinity

/** The times of a request by `ticks`; 0 is not yet. */
export type RequestTimes = Readonly<{ beganAtMs: number; sentAtMs: number; answeredAtMs: number }>

export type LiveSumsOptions = Readonly<{
  clock: Clock
  /** A monotonic clock in milliseconds, the one of `count`; tests pass one that they move. */
  ticks?: Clock
  /** Called with a second before its first request is counted. */
  begins?: (second: number) => void
}>

/**
 * The sums of one gateway's requests by second and by minute, in 0.7 MB that is made once. Seconds are numbered from
 * 1970 by a monotonic clock that was set at the start, so that no change of the system's clock mixes two of them.
 */
export class LiveSums {
  readonly #seconds = new SumRows(keptSeconds)
  readonly #minutes = new SumRows(keptMinutes)
  /** The sums of the second that is closed. */
  readonly #sums = new Float64Array(numbersOfRow)
  readonly #ticks: Clock
  readonly #offsetMs: number
  /** The time since which all requests are counted. */
  readonly sinceMs: number
  readonly #begins: LiveSumsOptions['begins']
  /** The second that is being counted, its row, and its end by `ticks`. */
  #second = noSecond
  #row = 0
  #endsAtMs = -Infinity
  /** The last second that was closed. */
  #closed = noSecond

  constructor({ clock, ticks = () => performance.now(), begins }: LiveSumsOptions) {
    this.#begins = begins
    this.#ticks = ticks
    this.sinceMs = clock()
    this.#offsetMs = this.sinceMs - ticks()
  }

  /** The time in milliseconds since 1970, by which the seconds are numbered. */
  get nowMs(): number {
    return this.#ticks() + this.#offsetMs
  }

  /** The second that is being counted. */
  get second(): number {
    return this.#second
  }

  /**
   * Counts a request by the place of its outcome, and its latencies. `nowMs` is the time by `ticks`. Fractions are only
   * subtracted here, because V8 makes objects of those that are handed over or chosen: 32 bytes a request.
   */
  count({ beganAtMs, sentAtMs, answeredAtMs }: RequestTimes, outcome: number, nowMs: number): void {
    this.countUnmeasured(outcome, nowMs)
    const { counts, sumsMs } = this.#seconds
    const first = this.#row * countsOfRow
    const sums = this.#row * 2
    const ownMs = sentAtMs > 0 ? sentAtMs - beganAtMs : nowMs - beganAtMs
    increment(counts, first + ownAt + bucketOf(ownBounds, ownMs))
    sumsMs[sums] = (sumsMs[sums] ?? 0) + ownMs
    if (sentAtMs === 0) return
    const upstreamMs = answeredAtMs > 0 ? answeredAtMs - sentAtMs : nowMs - sentAtMs
    increment(counts, first + upstreamAt + bucketOf(upstreamBounds, upstreamMs))
    sumsMs[sums + 1] = (sumsMs[sums + 1] ?? 0) + upstreamMs
  }

  /** Counts a request of which no times are known. */
  countUnmeasured(outcome: number, nowMs: number): void {
    if (nowMs >= this.#endsAtMs) this.#turn(nowMs)
    increment(this.#seconds.counts, this.#row * countsOfRow + outcome)
  }

  /** Counts that the backend answered the request before with 5xx. */
  countBackendFailure(): void {
    increment(this.#seconds.counts, this.#row * countsOfRow + backendFailedAt)
  }

  /** The last second that is over; its sums don't change any more. */
  close(): number {
    const last = Math.floor(this.nowMs / 1_000) - 1
    if (this.#second <= last) this.#closeSecond()
    this.#closed = Math.max(this.#closed, last)
    return this.#closed
  }

  /** Closes the present second as well, once no requests are counted any more. */
  end(): void {
    this.#closeSecond()
  }

  /** Rows of the seconds after `number` that are over and had requests: each begins with its number. */
  secondsAfter(number: number): number[][] {
    const last = this.close()
    return rowsBetween(this.#seconds, Math.max(number, last - keptSeconds) + 1, last)
  }

  /** Rows of the minutes, with the present one as far as its seconds are over. */
  minutes(): number[][] {
    const last = Math.floor(this.close() / 60)
    return rowsBetween(this.#minutes, last - keptMinutes + 1, last)
  }

  #turn(nowMs: number): void {
    this.#closeSecond()
    // The rounding of fractions may not open a closed second again.
    this.#second = Math.max(Math.floor((nowMs + this.#offsetMs) / 1_000), this.#closed + 1)
    this.#row = this.#seconds.rowOf(this.#second)
    this.#endsAtMs = (this.#second + 1) * 1_000 - this.#offsetMs
    this.#begins?.(this.#second)
  }

  #closeSecond(): void {
    if (this.#second === noSecond) return
    this.#sums.fill(0)
    this.#seconds.addTo(this.#sums, this.#second)
    this.#minutes.add(Math.floor(this.#second / 60), this.#sums)
    this.#closed = this.#second
    this.#second = noSecond
    this.#endsAtMs = -Infinity
  }
}

function rowsBetween(rows: SumRows, first: number, last: number): number[][] {
  const filledRows: number[][] = []
  for (let number = first; number <= last; number++) {
    const row = [number]
    if (!rows.addTo(row, number, 1)) continue
    for (let i = countsOfRow + 1; i < row.length; i++)
      row[i] = Math.round((row[i] ?? 0) * 1e3) / 1e3
    filledRows.push(row)
  }
  return filledRows
}

function increment(counts: Uint32Array, index: number): void {
  counts[index] = (counts[index] ?? 0) + 1
}
