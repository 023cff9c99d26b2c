import { spreadOf, type Outcome } from './load.ts'
import type { Contestant } from './measure.ts'
import { tableOf, whole, type Column } from './tables.ts'

export type Row = Readonly<{
  name: string
  status: number
  /** Microseconds of CPU time (user and system) of the server's processes, a request. */
  cpuMicros: number
  /** Least and most of the rounds. */
  cpuSpread: readonly [number, number]
  /** Nine of ten rounds cost at most this many times the median. */
  spread: number
  /** The same of Redis; 0 for a contestant without one. */
  redisMicros: number
  togetherMicros: number
  /** The server beside the first row, in the same round: the median of all rounds. */
  ratio: number
  ratioInterval: Interval
  /** Server and Redis together beside the first row. */
  togetherRatio: number
  /** Server and Redis together beside those of the rival. */
  rivalRatio: number | undefined
  rivalInterval: Interval | undefined
  perSecond: number
  p50Ms: number
  p99Ms: number
  lacks: string
  isVariant: boolean
}>

/** Where the median of endlessly many rounds lies, by 95 %. */
export type Interval = readonly [least: number, most: number]

/** The figures of one round of a contestant. */
export type Round = Outcome & Readonly<{ cpuMicros: number; redisMicros: number }>

/** The rows as a table; `named` says what the first column tells. */
export function table(rows: readonly Row[], named: string): string {
  const hasRedis = rows.some(({ redisMicros }) => redisMicros > 0)
  const columns: Column<Row>[] = [
    [named, ({ name }) => name],
    ['CPU µs a request (least–most)', cpuOf],
    ['Redis µs', ({ redisMicros }) => (redisMicros > 0 ? redisMicros.toFixed(1) : '')],
    ['both µs', ({ togetherMicros }) => (hasRedis ? togetherMicros.toFixed(1) : '')],
    ['beside the reference', ({ ratio, ratioInterval }) => within(ratio, ratioInterval)],
    ['both', ({ togetherRatio }) => (hasRedis ? togetherRatio.toFixed(2) : '')],
    ['beside nginx + Lua + Redis', besideRival],
    ['requests/s', ({ perSecond }) => whole(perSecond)],
    ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(1)],
    ['what it lacks', ({ lacks }) => lacks],
  ]
  return tableOf(rows, columns)
}

/** The spread of the first row; 1 of a part that has no such rows. */
export function spreadOfReference(results: unknown): number {
  const [first] = Array.isArray(results) ? (results as readonly Partial<Row>[]) : []
  return first?.spread ?? 1
}

function besideRival({ rivalRatio, rivalInterval }: Row): string {
  return rivalRatio === undefined || !rivalInterval ? '' : within(rivalRatio, rivalInterval)
}

/** A ratio with its interval, where there were rounds enough for one. */
export function within(ratio: number, [least, most]: Interval): string {
  if (most === Infinity || least === most) return ratio.toFixed(2)
  return `${ratio.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`
}

/** The cell of a row's CPU time. */
export function cpuOf({ cpuMicros, cpuSpread }: Row): string {
  return `${cpuMicros.toFixed(1)} (${cpuSpread.map((micros) => micros.toFixed(0)).join('–')})`
}

/** The medians of a contestant's rounds; `roundsOf` gives those of others by name, of the first without one. */
export function summary(
  { name, status, rival, lacks = '', isVariant = false }: Contestant,
  rounds: readonly Round[],
  roundsOf: (name: string | undefined) => readonly Round[],
): Row {
  const cpu = rounds.map(({ cpuMicros }) => cpuMicros)
  const reference = roundsOf(undefined)
  const ratios = (others: readonly Round[], micros: (round: Round) => number): number[] =>
    rounds.map((round, i) => micros(round) / micros(others[i] ?? round))
  const besideReference = ratios(reference, ({ cpuMicros }) => cpuMicros)
  const rivals = rival ? roundsOf(rival) : []
  const besideRival = rivals.length > 0 ? ratios(rivals, together) : undefined
  return {
    name,
    status,
    lacks,
    isVariant,
    cpuMicros: median(cpu),
    cpuSpread: [Math.min(...cpu), Math.max(...cpu)],
    spread: spreadOf(cpu),
    redisMicros: median(rounds.map(({ redisMicros }) => redisMicros)),
    togetherMicros: median(rounds.map(together)),
    ratio: median(besideReference),
    ratioInterval: medianInterval(besideReference),
    togetherRatio: median(ratios(reference, together)),
    rivalRatio: besideRival && median(besideRival),
    rivalInterval: besideRival && medianInterval(besideRival),
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
  }
}

function together({ cpuMicros, redisMicros }: Round): number {
  return cpuMicros + redisMicros
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2
}

/**
 * Two of the sorted values, as far from either end. How many of all lie below the median is like throwing coins; with fewer than six
 * values, all of them lie on one side too often, and the interval has no ends.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = [...values].sort((a, b) => a - b)
  const { length } = sorted
  let [left, chance, outside] = [0, 0.5 ** length, 0]
  for (; outside + chance <= 0.025; left++) {
    outside += chance
    chance *= (length - left) / (left + 1)
  }
  return [sorted[left - 1] ?? -Infinity, sorted[length - left] ?? Infinity]
}
