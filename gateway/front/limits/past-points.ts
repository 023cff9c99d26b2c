import { numberOf, usedIn, type Counters } from './counters.ts'
import { dayWindow } from '../../../shared/windows.ts'

/**
 * The points of a quota that its counters don't have any more: those of ended days, and those of today that came before
 * a reset. A text, as in Redis: `day,points;` for each day. Objects would take five times as much memory.
 */
export type PastPoints = string

/** The points of a quota on a day, less what was given back, and those of them that weren't included. */
export type QuotaPoints = Readonly<{ quota: string; points: number; beyond?: number }>

/** The number of days for which the points of an ended day are kept, also if no gateway runs. */
export const pastDays = 3

/** The same with more points of a day, or less if `points` is below 0; without days that ended too long ago. */
export function withPoints(
  past: PastPoints | undefined,
  day: number,
  points: number,
  today: number,
): PastPoints {
  let [others, sum] = ['', points]
  for (const [each, count] of pointsByDay(past)) {
    if (each === day) sum += count
    else if (each >= today - pastDays) others += `${each},${count};`
  }
  return sum > 0 ? `${others}${day},${sum};` : others
}

/** The points of one day. */
export function pointsIn(past: PastPoints | undefined, day: number): number {
  return pointsByDay(past).find(([each]) => each === day)?.[1] ?? 0
}

/** The points of each day. */
function pointsByDay(past: PastPoints | undefined): [day: number, points: number][] {
  if (!past) return []
  return [...past.matchAll(/(\d+),(\d+);/g)].map(([, day, points]) => [Number(day), Number(points)])
}

type Counted = Counters & { past?: PastPoints | undefined }

/** What a quota has used on a day, as a list of one; nothing is none. */
export function usedOn(
  quota: string,
  counted: Counted & Readonly<{ beyond?: PastPoints | undefined }>,
  day: number,
): QuotaPoints[] {
  const points = pointsIn(counted.past, day) + presentOn(counted, day)
  const beyond = Math.min(points, pointsIn(counted.beyond, day))
  if (points <= 0) return []
  return [beyond > 0 ? { quota, points, beyond } : { quota, points }]
}

/** The points of a day in the counters. */
function presentOn(counters: Counters, day: number): number {
  return numberOf(counters, dayWindow) === day ? usedIn(counters, dayWindow) : 0
}
