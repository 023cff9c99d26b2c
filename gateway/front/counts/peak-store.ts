import type { CountStore } from './batch.ts'

/** The highest use of a quota on one day, as its decisions told it, and how often a limit refused it. */
export type DayPeak = Readonly<{
  /** Days since 1970, in UTC. */
  day: number
  /** The most points used in one of its minutes. */
  minute: number
  /** The most points used in the day, without those that were given back by then. */
  used: number
  /** Refusals by the limit a minute, and by the limit a day. */
  refusedByMinute: number
  refusedByDay: number
}>

/** The same, with the name of the quota. */
export type QuotaDay = DayPeak & Readonly<{ quota: string }>

/**
 * The peaks of one quota, by day, in any order: for each day the numbers of a `DayPeak`, in its order. Two weeks of
 * 100,000 quotas as objects would cost a second of collections.
 */
export type QuotaPeaks = Readonly<{ quota: string; numbers: readonly number[] }>

/** The numbers of a day in `QuotaPeaks`. */
export const numbersPerDay = 5

/** The days of a quota, each as an object. */
export function daysOf({ quota, numbers }: QuotaPeaks): QuotaDay[] {
  return Array.from({ length: numbers.length / numbersPerDay }, (_, i) => {
    const packed = numbers.slice(i * numbersPerDay, (i + 1) * numbersPerDay)
    const [day = 0, minute = 0, used = 0, refusedByMinute = 0, refusedByDay = 0] = packed
    return { quota, day, minute, used, refusedByMinute, refusedByDay }
  })
}

/**
 * The peaks of quotas by day, for `rememberedDays`. They are merged by their maximum, refusals are summed.
 */
export interface PeakStore extends CountStore<QuotaDay> {
  /** The peaks from the first day to the last, both included, some quotas at a time. A quota comes once. */
  list(fromDay: number, toDay: number): AsyncIterable<readonly QuotaPeaks[]>
}
