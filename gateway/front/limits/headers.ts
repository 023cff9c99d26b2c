import { numberOf } from './counters.ts'
import { isLimited, limitOf, type Limits } from './limits.ts'
import { usedBy, type Decision } from './step.ts'
import {
  endsAtMs,
  longestFirst,
  steadyWindows,
  windows,
  type Window,
  type WindowName,
} from '../../../shared/windows.ts'

/** One window of a decision, as headers and bodies show it. */
export type WindowState = Readonly<{
  window: Window
  limit: number
  remaining: number
  resetMs: number
}>

/** The window that stops the caller first, which the headers show; `undefined` for an unlimited caller. */
export function decisiveWindow(decision: Decision, limits: Limits): WindowState | undefined {
  const window = decisive(decision, limits)
  return window && stateOf(window, decision, limits)
}

function decisive(decision: Decision, limits: Limits): Window | undefined {
  const { verdict, cost } = decision
  if (verdict === 'banned') return steadyWindows.find((window) => isLimited(limits, window))
  if (verdict === 'refused') {
    const full = longestFirst.find((window) => remainingIn(window, decision, limits) < cost)
    if (full) return full
  }
  let [least, leastRemaining]: [Window | undefined, number] = [undefined, Infinity]
  for (const window of longestFirst) {
    const remaining = window.isBrief ? Infinity : remainingIn(window, decision, limits)
    if (remaining < leastRemaining) [least, leastRemaining] = [window, remaining]
  }
  return least
}

/** The windows that have a limit. */
export function limitedWindows(
  decision: Decision,
  limits: Limits,
): Partial<Record<WindowName, WindowState>> {
  const limited = windows.filter((window) => isLimited(limits, window))
  return Object.fromEntries(
    limited.map((window) => [window.name, presentState(window, decision, limits)]),
  )
}

/** A decision and the limits behind it: all that an answer's headers show. */
export type Standing = Readonly<{ decision: Decision; limits: Limits }>

/** The three headers of every answer, and the IETF's two if `ietf` is set. */
export function rateHeaders({ decision, limits }: Standing, ietf: boolean): Record<string, string> {
  const state = decisiveWindow(decision, limits)
  if (!state) return {}
  const headers: Record<string, string> = {
    'x-ratelimit-limit': String(state.limit),
    'x-ratelimit-remaining': String(state.remaining),
    'x-ratelimit-reset': String(Math.ceil(state.resetMs / 1000)),
  }
  if (ietf) Object.assign(headers, ietfHeaders(state, decision, limits))
  return headers
}

/** The `Retry-After` of a refusal. */
export function retryAfter(standing: Standing): number {
  return secondsToWait(endOfWait(standing), standing.decision.nowMs)
}

/** The time from which on a refused caller is let in. */
export function endOfWait({ decision, limits }: Standing): number {
  const { verdict, bannedUntilMs, nowMs } = decision
  return verdict === 'banned' ? bannedUntilMs : (decisiveWindow(decision, limits)?.resetMs ?? nowMs)
}

/** Whole seconds until the next window: a caller that waits exactly as long is admitted. */
export function secondsToWait(resetMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((Math.ceil(resetMs / 1000) * 1000 - nowMs) / 1000))
}

function stateOf(window: Window, decision: Decision, limits: Limits): WindowState {
  const state = presentState(window, decision, limits)
  const { verdict, bannedUntilMs } = decision
  return verdict === 'banned' ? { ...state, remaining: 0, resetMs: bannedUntilMs } : state
}

/** A window as it is, whether a ban runs or not. */
function presentState(window: Window, decision: Decision, limits: Limits): WindowState {
  const remaining = remainingIn(window, decision, limits)
  const resetMs = endsAtMs(window, numberOf(decision.seen, window))
  return { window, limit: limitOf(limits, window), remaining, resetMs }
}

function remainingIn(window: Window, decision: Decision, limits: Limits): number {
  const limit = limitOf(limits, window)
  // A limit may have been lowered below the usage.
  return limit === Infinity ? Infinity : Math.max(0, limit - usedBy(decision, window))
}

/** The fields of draft-ietf-httpapi-ratelimit-headers-11. */
function ietfHeaders(
  { window, remaining, resetMs }: WindowState,
  decision: Decision,
  limits: Limits,
): Record<string, string> {
  const policies = windows
    .filter((each) => isLimited(limits, each))
    .map((each) => `"${each.name}";q=${limitOf(limits, each)}${widthOf(each)}`)
  const seconds = secondsToWait(resetMs, decision.nowMs)
  return {
    'ratelimit-policy': policies.join(', '),
    ratelimit: `"${window.name}";r=${remaining};t=${seconds}`,
  }
}

/** The length of a window in seconds; a month has no fixed one. */
function widthOf({ lengthMs }: Window): string {
  return lengthMs === undefined ? '' : `;w=${lengthMs / 1000}`
}
