import type { Numbered } from '../../../gateway/front/limits/quota-state.ts'

/** The adjustments that were made of a quota, by gateway: those from a number on, and the day of the last one. */
export type MadeAdjustments = Map<
  string,
  Readonly<{ from: number; day: number; numbers: readonly number[] }>
>

/** The days after which those of a gateway may be forgotten. */
export const madeDays = 3

/** Whether an adjustment was made already; notes it. adjusted.lua does the same in Redis. */
export function isMade(
  made: MadeAdjustments,
  { by, number, from }: Numbered,
  day: number,
): boolean {
  const before = made.get(by)
  if (before && (number < before.from || before.numbers.includes(number))) return true
  if (!before) {
    for (const [other, { day: last }] of made) if (last + madeDays < day) made.delete(other)
  }
  const first = Math.max(before?.from ?? 0, from)
  const numbers = before?.numbers.filter((each) => each >= first) ?? []
  made.set(by, { from: first, day, numbers: [...numbers, number] })
  return false
}
