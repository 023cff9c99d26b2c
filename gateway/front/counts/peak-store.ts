import { windows, type Window, type WindowName } from '../../../shared/windows.ts'
import type { CountStore } from './batch.ts'

export type ByWindow = Readonly<Partial<Record<WindowName, number>>>

/** The highest use of a quota on one day, as its decisions told it, and how often a limit refused it. */
export type DayPeak = Readonly<{
  /** Days since 1970, in UTC. */
  day: number
  /**
   * The most points used in one of each window, without those that were given back by then. Required windows are recorded
   * always, others where they are limited.
   */
  most: ByWindow
  /** The refusals by each limit; none for 0. */
  refused: ByWindow
}>

/** The same, with the name of the quota. */
export type QuotaDay = DayPeak & Readonly<{ quota: string }>

/**
 * The peaks of one quota, by day, in any order: for each day its number, and then two numbers for each window, the most
 * points used and the refusals. Two weeks of 100,000 quotas as objects would cost a second of collections.
 */
export type QuotaPeaks = Readonly<{ quota: string; numbers: readonly number[] }>

/** The numbers of a day in `QuotaPeaks`. */
export const numbersPerDay = 1 + 2 * windows.length

/** Stands for the most points of a window that wasn't recorded. */
export const unrecorded = -1

const places = new Map(windows.map((window, i) => [window, 1 + 2 * i]))

/** The place of the most points of a window among the numbers of a day; its refusals come next. */
export function placeOf(window: Window): number {
  return places.get(window) ?? 0
}

const blank = [0, ...windows.flatMap(() => [unrecorded, 0])]

/** The numbers of a day of which nothing is recorded yet. */
export function blankDay(day: number): number[] {
  const numbers = blank.slice()
  numbers[0] = day
  return numbers
}

/** The days of a quota, each as an object. */
export function daysOf({ quota, numbers }: QuotaPeaks): QuotaDay[] {
  return Array.from({ length: numbers.length / numbersPerDay }, (_, i) => {
    const [day = 0, ...ofDay] = numbers.slice(i * numbersPerDay, (i + 1) * numbersPerDay)
    const most: Partial<Record<WindowName, number>> = {}
    const refused: Partial<Record<WindowName, number>> = {}
    windows.forEach(({ name }, place) => {
      const [points = unrecorded, refusals = 0] = ofDay.slice(2 * place)
      if (points !== unrecorded) most[name] = points
      if (refusals > 0) refused[name] = refusals
    })
    return { quota, day, most, refused }
  })
}

/**
 * The peaks of quotas by day, for `rememberedDays`. They are merged by their maximum, refusals are summed.
 */
export interface PeakStore extends CountStore<QuotaDay> {
  /** The peaks from the first day to the last, both included, some quotas at a time. A quota comes once. */
  list(fromDay: number, toDay: number): AsyncIterable<readonly QuotaPeaks[]>
}
