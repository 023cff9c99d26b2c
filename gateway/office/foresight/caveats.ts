import { withCommas } from '../../../shared/commas.ts'
import type { Window } from '../../../shared/windows.ts'
import { dayText } from '../../front/counts/usage.ts'
import type { Bound } from './bound.ts'
import { isLong } from './held-quotas.ts'
import type { PlannedQuotas } from './planned-quotas.ts'

export type UnsaidFacts = Readonly<{
  bound: Bound
  planned: PlannedQuotas
  /** The windows that have another limit then, and those of them that weren't recorded, because nothing limited them. */
  changed: readonly Window[]
  unrecorded: readonly Window[]
  fromDay: number
  /** The first day of which anything is recorded; `Infinity` if there is none. */
  firstDay: number
  /** The number of grants of points in these days. */
  grants: number
}>

/** Says that the limits of a plan aren't known here. */
export function variableText(plan: string): string {
  return `The limits of ${plan} come from a variable of the environment, so nothing is told.`
}

/** Sentences about what a preview can't tell, and what it has left out. */
export function unsaidOf(facts: UnsaidFacts): string[] {
  const { bound, planned, changed, unrecorded, fromDay, firstDay, grants } = facts
  const { ownLimits, mixedAccounts } = planned
  return [
    'Each key counts with the plan and the limits that it has today.',
    'Bans, costs of routes, how many requests are under way at once and the number of refused requests are not foreseen.',
    ...(bound === 'lower'
      ? [
          'This is a lower bound: callers that a lower limit refused on those days may have had more to send.',
        ]
      : []),
    ...unrecorded.map(unrecordedText),
    ...changed
      .filter(isLong)
      .map(
        ({ name }) =>
          `A ${name} counts all that was sent in it, also what the limits then would have refused: of its days after the ` +
          'first one that is named, too many may be.',
      ),
    ...(firstDay > fromDay
      ? [
          Number.isFinite(firstDay)
            ? `Nothing is recorded of the days before ${dayText(firstDay)}.`
            : 'Nothing is recorded of these days.',
        ]
      : []),
    ...(grants > 0
      ? [
          `Grants of points in these days: ${withCommas(grants)}, to keys of any plan. Days that they ` +
            'raised are judged without them.',
        ]
      : []),
    ...(ownLimits > 0 ? [`Keys with custom limits are left out: ${withCommas(ownLimits)}.`] : []),
    ...(mixedAccounts > 0
      ? [
          `Accounts that also have keys with other limits: ${withCommas(mixedAccounts)}. All their keys ` +
            'share one count, so a day of theirs may be hit by requests that other limits hold for.',
        ]
      : []),
  ]
}

/** Of a window that nothing limited, less is recorded. */
function unrecordedText(window: Window): string {
  const { name, limit } = window
  const least = isLong(window)
    ? `the sum of the days looked at, for ${name}s that begin as the calendar’s do`
    : 'the highest use of a shorter window in it, so others may be hit'
  return (
    `The use of each ${name} is recorded only where it is limited. Where it wasn’t, it counts as ${least}. ` +
    `A shadow with ${limit} has it recorded.`
  )
}
