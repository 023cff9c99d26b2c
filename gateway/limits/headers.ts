import type { Limits } from './limits.ts'
import { dayMs, minuteMs, type Decision } from './step.ts'

/** One window of a decision, as its caller is told of it. */
export type Window = Readonly<{
  name: 'minute' | 'day'
  limit: number
  remaining: number
  resetMs: number
}>

/** The window that the X-RateLimit headers describe; `undefined` if nothing limits the caller. */
export function tellingWindow(decision: Decision, limits: Limits): Window | undefined {
  const minute = minuteWindow(decision, limits)
  const day = dayWindow(decision, limits)
  if (decision.verdict === 'banned') return bannedWindow(decision, minute ?? day)
  if (!minute || !day) return minute ?? day
  if (decision.verdict === 'refused') return day.remaining < decision.cost ? day : minute
  return day.remaining <= minute.remaining ? day : minute
}

/** Both windows; one that has no limit is left out. */
export function windows(decision: Decision, limits: Limits): { minute?: Window; day?: Window } {
  const minute = minuteWindow(decision, limits)
  const day = dayWindow(decision, limits)
  return { ...(minute ? { minute } : {}), ...(day ? { day } : {}) }
}

/** A decision, and the limits that it was made by: all that an answer's headers tell. */
export type Standing = Readonly<{ decision: Decision; limits: Limits }>

/** The three headers that every answer carries, and the IETF's two where they are wanted. */
export function rateHeaders({ decision, limits }: Standing, ietf: boolean): Record<string, string> {
  const window = tellingWindow(decision, limits)
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
export function retryAfter({ decision, limits }: Standing): number {
  const { verdict, bannedUntilMs, nowMs } = decision
  const { resetMs = nowMs } = tellingWindow(decision, limits) ?? {}
  return secondsToWait(verdict === 'banned' ? bannedUntilMs : resetMs, nowMs)
}

/** Whole seconds after which the window is a new one: who waits exactly so long is let in. */
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
  // A limit that was lowered below what is used leaves nothing, not less than nothing.
  const remaining = Math.max(0, limit - used)
  return { name, limit, remaining, resetMs: (number + 1) * lengthMs }
}

function bannedWindow({ bannedUntilMs }: Decision, told: Window | undefined): Window | undefined {
  return told && { name: told.name, limit: told.limit, remaining: 0, resetMs: bannedUntilMs }
}

const lengths = { minute: minuteMs, day: dayMs } as const

/** The fields of draft-ietf-httpapi-ratelimit-headers-11. */
function ietfHeaders(window: Window, decision: Decision, limits: Limits): Record<string, string> {
  const policies = Object.values(windows(decision, limits)).map(
    ({ name, limit }) => `"${name}";q=${limit};w=${lengths[name] / 1000}`,
  )
  const seconds = secondsToWait(window.resetMs, decision.nowMs)
  return {
    'ratelimit-policy': policies.join(', '),
    ratelimit: `"${window.name}";r=${window.remaining};t=${seconds}`,
  }
}
