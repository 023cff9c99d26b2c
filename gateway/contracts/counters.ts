import { numberOf, type Counters } from '../front/limits/counters.ts'
import { countIn, recount } from '../front/limits/recount.ts'
import type { Seen } from '../front/limits/quota-state.ts'
import { usedBy, type Decision } from '../front/limits/step.ts'
import { byWindow, type WindowName } from '../../shared/windows.ts'

/** The points that each window of a decision has used, by names such as `minuteUsed`. */
export type Used = Readonly<Record<`${WindowName}Used`, number>>

export function withUsed(decision: Decision): Decision & Used {
  const used = Object.entries(byWindow((window) => usedBy(decision, window)))
  return { ...decision, ...(Object.fromEntries(used.map(([n, v]) => [`${n}Used`, v])) as Used) }
}

/** The numbers of the windows of counters. */
export function numbersOf(counters: Counters): Record<WindowName, number> {
  return byWindow((window) => numberOf(counters, window))
}

type Counts = Readonly<Partial<Record<WindowName, number>>>

/** Counters with other counts: what windows have counted, what came back to them, and their numbers. */
export function counted<Some extends Counters | Seen>(
  counters: Some,
  used: Counts,
  { back = {}, numbers = {} }: Readonly<{ back?: Counts; numbers?: Counts }> = {},
): Some {
  const copy = { ...counters, marks: [...counters.marks] }
  recount(copy, (window) => {
    const before = countIn(counters, window)
    return {
      number: numbers[window.name] ?? before.number,
      counted: used[window.name] ?? before.counted,
      givenBack: back[window.name] ?? before.givenBack,
    }
  })
  return copy
}
