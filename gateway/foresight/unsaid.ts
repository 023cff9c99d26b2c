import { dayText } from '../records/usage.ts'
import type { Bound } from './bound.ts'
import type { PlannedQuotas } from './planned-quotas.ts'

export type UnsaidFacts = Readonly<{
  bound: Bound
  planned: PlannedQuotas
  fromDay: number
  /** The first day of which anything is recorded; `Infinity` if there is none. */
  firstDay: number
}>

/** Says that the limits of a plan aren't known here. */
export function variableText(plan: string): string {
  return `The limits of ${plan} come from a variable of the environment, so nothing is told.`
}

/** Sentences about what a preview can't tell, and what it has left out. */
export function unsaidOf({ bound, planned, fromDay, firstDay }: UnsaidFacts): string[] {
  const { ownLimits, mixedAccounts } = planned
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
