import { hash } from 'node:crypto'
import type { Limits } from './limits.ts'
import type { Decision } from './step.ts'

/** Lower limits of a plan that refuse nothing: requests that they would have refused are counted. */
export type Shadow = Readonly<{
  limits: Limits
  /** A short name of the plan and its shadow's limits: other limits have another one, and a report of their own. */
  hash: string
  /** The names under which requests are tallied: those that each window would have refused, and all. */
  tallies: Readonly<{ minute: string; day: string; all: string }>
}>

/** The windows of a shadow that would have refused a request. */
export type ShadowWindows = 'minute' | 'day' | 'minute day'

const hashLength = 8

export function shadowOf(plan: string, limits: Limits): Shadow {
  const name = hash('sha256', `${plan} ${limits.perMinute} ${limits.perDay}`).slice(0, hashLength)
  const tally = (what: string): string => `shadow ${what} ${name}`
  const tallies = { minute: tally('minute'), day: tally('day'), all: tally('all') }
  return Object.freeze({ limits, hash: name, tallies })
}

/** The shadow of a key that has limits of its own: the plan's shadow doesn't hold in these windows. */
export function shadowBeside(shadow: Shadow, own: Readonly<Record<keyof Limits, boolean>>): Shadow {
  const { perMinute, perDay } = shadow.limits
  const limits = {
    perMinute: own.perMinute ? Infinity : perMinute,
    perDay: own.perDay ? Infinity : perDay,
  }
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
export function wouldRefuse({ limits }: Shadow, decision: Decision): ShadowWindows | undefined {
  if (!isJudged(decision)) return undefined
  const { minuteUsed, dayUsed, dayGivenBack } = decision.seen
  const isMinute = minuteUsed > limits.perMinute
  const isDay = dayUsed - dayGivenBack > limits.perDay
  if (isMinute) return isDay ? 'minute day' : 'minute'
  return isDay ? 'day' : undefined
}
