import { hash } from 'node:crypto'
import { limitOf, type Limits } from './limits.ts'
import { hasLimits, type LimitSettings } from './limit-settings.ts'
import { usedHere, type Decision } from './step.ts'
import { byLimit, byWindow, windows, type WindowName } from '../../../shared/windows.ts'

/** Lower limits of a plan that refuse nothing: requests that they would have refused are counted. */
export type Shadow = Readonly<{
  limits: Limits
  /** A short name of the plan and its shadow's limits: other limits have another one, and a report of their own. */
  hash: string
  /** The names under which requests are tallied: those that each window would have refused, and all. */
  tallies: Readonly<Record<WindowName | 'all', string>>
}>

const hashLength = 8

export function shadowOf(plan: string, limits: Limits): Shadow {
  const numbers = windows
    .filter((window) => window.isRequired || limitOf(limits, window) !== Infinity)
    .map((window) => `${window.isRequired ? '' : `${window.name} `}${limitOf(limits, window)}`)
  const name = hash('sha256', [plan, ...numbers].join(' ')).slice(0, hashLength)
  const tally = (what: string): string => `shadow ${what} ${name}`
  const tallies = { ...byWindow((window) => tally(window.name)), all: tally('all') }
  return Object.freeze({ limits, hash: name, tallies })
}

/** The shadow of a key that has limits of its own: the plan's shadow doesn't hold in these windows. */
export function shadowBeside(shadow: Shadow, own: LimitSettings | undefined): Shadow {
  if (!own || !hasLimits(own)) return shadow
  const limits = byLimit((window) =>
    own[window.limit] === undefined ? limitOf(shadow.limits, window) : Infinity,
  )
  return { ...shadow, limits }
}

/** Whether a shadow judges a decision: of a request that was let in and counted. */
export function isJudged({ verdict, cost }: Decision): boolean {
  return verdict === 'admitted' && cost > 0
}

/**
 * The windows of a shadow that would have refused an admitted request, each judged for itself: the request's place in its
 * window says it, so that no second count is needed.
 */
export function wouldRefuse({ limits }: Shadow, decision: Decision): readonly WindowName[] {
  if (!isJudged(decision)) return []
  return windows
    .filter((window) => usedHere(decision, window) > limitOf(limits, window))
    .map(({ name }) => name)
}
