import type { Plan } from '../limits/limits.ts'
import { dayText } from '../records/usage.ts'
import type { Bound } from './bound.ts'
import type { PlannedQuotas } from './planned-quotas.ts'

export type UnsaidFacts = Readonly<{
  now: Plan
  then: Plan | 'variable' | undefined
  bound: Bound
  planned: PlannedQuotas
  fromDay: number
  /** The first day of which anything is recorded; `Infinity` if there is none. */
  firstDay: number
}>

/** Sentences about what a preview can't tell, and what it has left out. */
export function unsaidOf({ now, then, bound, planned, fromDay, firstDay }: UnsaidFacts): string[] {
  const { ownLimits, mixedAccounts } = planned
  if (then === 'variable') {
    return [
      `The limits of ${now.name} come from a variable of the environment, so nothing is told.`,
    ]
  }
  return [
    'Each key counts with the plan and the limits that it has today.',
    'Bans, costs of routes and the number of refused requests are not foreseen.',
    ...(bound === 'lower'
      ? [
          'This is a lower bound: callers that a lower limit refused on those days may have had more to send.',
        ]
      : []),
    ...(firstDay > fromDay
      ? [
          Number.isFinite(firstDay)
            ? `Nothing is recorded of the days before ${dayText(firstDay)}.`
            : 'Nothing is recorded of these days.',
        ]
      : []),
    ...(ownLimits > 0
      ? [`Keys with limits of their own are left out: ${ownLimits.toLocaleString('en')}.`]
      : []),
    ...(mixedAccounts > 0
      ? [
          `Accounts that also have keys with other limits: ${mixedAccounts.toLocaleString('en')}. All their keys ` +
            'share one count, so a day of theirs may be hit by requests that other limits hold for.',
        ]
      : []),
  ]
}
