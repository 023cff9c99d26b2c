import type { Limits } from './limits.ts'
import { dayMs, minuteMs, type Decision } from './step.ts'

/** One window of a decision, as headers and bodies show it. */
export type Window = Readonly<{
  name: 'minute' | 'day'
  limit: number
  remaining: number
  resetMs: number
}>

/** The window that stops the caller first, which the headers show; `undefined` for an unlimited caller. */
export function decisiveWindow(decision: Decision, limits: Limits): Window | undefined {
  const minute = minuteWindow(decision, limits)
  const day = dayWindow(decision, limits)
  if (decision.verdict === 'banned') return bannedWindow(decision, minute ?? day)
  if (!minute || !day) return minute ?? day
  if (decision.verdict === 'refused') return day.remaining < decision.cost ? day : minute
  return day.remaining <= minute.remaining ? day : minute
}

/** Both windows, without those that have no limit. */
export function windows(decision: Decision, limits: Limits): { minute?: Window; day?: Window } {
  const minute = minuteWindow(decision, limits)
  const day = dayWindow(decision, limits)
  return { ...(minute ? { minute } : {}), ...(day ? { day } : {}) }
}

/** A decision and the limits behind it: all that an answer's headers show. */
export type Standing = Readonly<{ decision: Decision; limits: Limits }>

/** The three headers of every answer, and the IETF's two if `ietf` is set. */
export function rateHeaders({ decision, limits }: Standing, ietf: boolean): Record<string, string> {
  const window = decisiveWindow(decision, limits)
  if (!window) return {}
  const headers: Record<string, string> = {
    'x-ratelimit-limit': String(window.limit),
    'x-ratelimit-remaining': String(window.remaining),
    'x-ratelimit-reset': String(Math.ceil(window.resetMs / 1000)),
  }
  if (ietf) Object.assign(headers, ietfHeaders(window, decision, limits))
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

function minuteWindow({ seen, minuteUsed }: Decision, { perMinute }: Limits): Window | undefined {
  return window('minute', minuteMs, perMinute, minuteUsed, seen.minute)
}

function dayWindow({ seen, dayUsed }: Decision, { perDay }: Limits): Window | undefined {
  return window('day', dayMs, perDay, dayUsed, seen.day)
}

function window(
  name: Window['name'],
  lengthMs: number,
  limit: number,
  used: number,
  number: number,
): Window | undefined {
  if (limit === Infinity) return undefined
  // A limit may have been lowered below the usage.
  const remaining = Math.max(0, limit - used)
  return { name, limit, remaining, resetMs: (number + 1) * lengthMs }
}

function bannedWindow({ bannedUntilMs }: Decision, shown: Window | undefined): Window | undefined {
  return shown && { name: shown.name, limit: shown.limit, remaining: 0, resetMs: bannedUntilMs }
}

const lengthsMs = { minute: minuteMs, day: dayMs } as const

/** The fields of draft-ietf-httpapi-ratelimit-headers-11. */
function ietfHeaders(window: Window, decision: Decision, limits: Limits): Record<string, string> {
  const policies = Object.values(windows(decision, limits)).map(
    ({ name, limit }) => `"${name}";q=${limit};w=${lengthsMs[name] / 1000}`,
  )
  const seconds = secondsToWait(window.resetMs, decision.nowMs)
  return {
    'ratelimit-policy': policies.join(', '),
    ratelimit: `"${window.name}";r=${window.remaining};t=${seconds}`,
  }
}
