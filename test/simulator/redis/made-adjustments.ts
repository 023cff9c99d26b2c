import type { Numbered } from '../../../gateway/front/limits/quota-state.ts'

/** The adjustments that were made of a quota, by gateway: those from a number on. */
export type MadeAdjustments = Map<string, { from: number; numbers: number[] }>

/** Whether an adjustment was made already; notes it. adjusted.lua does the same in Redis. */
export function isMade(made: MadeAdjustments, { by, number, from }: Numbered): boolean {
  const before = made.get(by) ?? { from: 0, numbers: [] }
  if (number < before.from || before.numbers.includes(number)) return true
  const first = Math.max(before.from, from)
  made.set(by, {
    from: first,
    numbers: [...before.numbers.filter((each) => each >= first), number],
  })
  return false
}
