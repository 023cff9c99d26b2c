/**
 * The points of a quota that its counters don't have any more: those of ended days, and those of today that came before
 * a reset. A text, as in Redis: `day,points;` for each day. Objects would take five times as much memory.
 */
export type PastPoints = string

/** The number of days for which the points of an ended day are kept, also if no gateway runs. */
export const pastDays = 3

/** Whether a quota is that of a caller, and not one that an app counts under a name of its own. */
export function isOfCallers(quota: string): boolean {
  return !quota.startsWith('limiter:')
}

/** The same with more points of a day, or less if `points` is below 0; without days that ended too long ago. */
export function withPoints(
  past: PastPoints | undefined,
  day: number,
  points: number,
  today: number,
): PastPoints {
  let [kept, sum] = ['', points]
  for (const [of, count] of pointsByDay(past)) {
    if (of === day) sum += count
    else if (of >= today - pastDays) kept += `${of},${count};`
  }
  return sum > 0 ? `${kept}${day},${sum};` : kept
}

/** The points of each day. */
export function pointsByDay(past: PastPoints | undefined): [day: number, points: number][] {
  if (!past) return []
  return [...past.matchAll(/(\d+),(\d+);/g)].map(([, day, points]) => [Number(day), Number(points)])
}

type Counted = Readonly<{
  day: number
  dayUsed: number
  dayGivenBack: number
  generation: number
  past?: PastPoints | undefined
}>

/** All points of a quota on a day, less what was given back. */
export function pointsOn(
  { day, dayUsed, dayGivenBack, past }: Omit<Counted, 'generation'>,
  asked: number,
): number {
  const before = pointsByDay(past).find(([of]) => of === asked)?.[1] ?? 0
  return before + (day === asked ? dayUsed - dayGivenBack : 0)
}

/** The past points of two copies of a quota, whose counters were merged: of each day the larger sum. */
export function mergedPast(one: Counted, other: Counted, merged: Counted): PastPoints | undefined {
  const { day: today, dayUsed, dayGivenBack } = merged
  const areAlike = one.generation === other.generation && one.day === other.day
  const counts = areAlike ? { dayUsed, dayGivenBack } : {}
  const both = [one, other].map((each) => ({ ...each, ...counts }))
  const days = both.flatMap(({ day, past }) => [day, ...pointsByDay(past).map(([of]) => of)])
  let past: PastPoints | undefined
  for (const day of [...new Set(days)].sort((a, b) => a - b)) {
    const sum = Math.max(...both.map((each) => pointsOn(each, day)))
    const points = sum - pointsOn({ ...merged, past: undefined }, day)
    if (points > 0) past = withPoints(past, day, points, today)
  }
  return past
}
