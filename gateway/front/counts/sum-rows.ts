import { windowNames } from '../../../shared/windows.ts'
import { latencyView, ownBounds, upstreamBounds } from './histogram.ts'

/** The outcomes by which requests are counted: each request has one. */
export const outcomes = [
  'admitted',
  ...windowNames,
  'ban',
  'strangers',
  'refused',
  'failed',
  'noBackend',
  'others',
] as const

export type LiveOutcome = (typeof outcomes)[number]

/** The place of each column in a row: counts by outcome, and the buckets of both histograms. */
export const backendFailedAt = outcomes.length
export const ownAt = backendFailedAt + 1
export const upstreamAt = ownAt + ownBounds.length + 1
export const countsOfRow = upstreamAt + upstreamBounds.length + 1

/** Behind the counts: the sums of both latencies, in milliseconds. */
export const numbersOfRow = countsOfRow + 2

/** Rows of sums by the number of their second or minute, the latest `size` of them. All of it is made once. */
export class SumRows {
  readonly size: number
  readonly counts: Uint32Array
  /** The sums of a row's own latencies and of its upstream's. */
  readonly sumsMs: Float64Array
  readonly #numbers: Float64Array

  constructor(size: number) {
    this.size = size
    this.counts = new Uint32Array(size * countsOfRow)
    this.sumsMs = new Float64Array(size * 2)
    this.#numbers = new Float64Array(size).fill(-Infinity)
  }

  /** The row of a number, in place of the one before; -1 if a newer one has that place. */
  rowOf(number: number): number {
    const row = this.#place(number)
    const present = this.#numbers[row] ?? 0
    if (present === number) return row
    if (present > number) return -1
    this.#numbers[row] = number
    this.counts.fill(0, row * countsOfRow, (row + 1) * countsOfRow)
    this.sumsMs.fill(0, row * 2, row * 2 + 2)
    return row
  }

  /** Adds numbers in the order of a row. Returns the row; -1 if it isn't kept any more. */
  add(number: number, values: ArrayLike<number>, from = 0): number {
    const row = this.rowOf(number)
    if (row < 0) return row
    const first = row * countsOfRow
    for (let i = 0; i < countsOfRow; i++) {
      this.counts[first + i] = (this.counts[first + i] ?? 0) + (values[from + i] ?? 0)
    }
    for (let i = 0; i < 2; i++) {
      const sum = this.sumsMs[row * 2 + i] ?? 0
      this.sumsMs[row * 2 + i] = sum + (values[from + countsOfRow + i] ?? 0)
    }
    return row
  }

  /** Adds the row of a number to a list of numbers, from a place on. Returns whether there is such a row. */
  addTo(list: number[] | Float64Array, number: number, from = 0): boolean {
    const row = this.#place(number)
    if (this.#numbers[row] !== number) return false
    const first = row * countsOfRow
    for (let i = 0; i < countsOfRow; i++) {
      list[from + i] = (list[from + i] ?? 0) + (this.counts[first + i] ?? 0)
    }
    for (let i = 0; i < 2; i++) {
      const index = from + countsOfRow + i
      list[index] = (list[index] ?? 0) + (this.sumsMs[row * 2 + i] ?? 0)
    }
    return true
  }

  #place(number: number): number {
    return ((number % this.size) + this.size) % this.size
  }
}

/** Sums as programs get them. */
export function sumsView(sums: ArrayLike<number>) {
  const count = (column: number): number => sums[column] ?? 0
  const byOutcome = Object.fromEntries(outcomes.map((name, column) => [name, count(column)]))
  const { failed, noBackend, ...others } = byOutcome as Record<LiveOutcome, number>
  return {
    requests: outcomes.reduce((all, _name, column) => all + count(column), 0),
    ...others,
    failed: { gateway: failed, noBackend, backend: count(backendFailedAt) },
    own: latencyView(ownBounds, sums, ownAt, count(countsOfRow)),
    upstream: latencyView(upstreamBounds, sums, upstreamAt, count(countsOfRow + 1)),
  }
}

export type SumsView = ReturnType<typeof sumsView>
