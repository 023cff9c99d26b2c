import type { Limits } from './limits.ts'
import { dayMs, minuteMs, type Decision } from './step.ts'

/** One window of a decision, as its caller is told of it. */
export type Window = Readonly<{ limit: number; remaining: number; resetMs: number }>

/** The window that the X-RateLimit headers describe; `undefined` if nothing limits the caller. */
export function tellingWindow(
  decision: Decision,
  limits: Limits,
  cost: number,
): Window | undefined {
  const { minute, day } = windows(decision, limits)
  if (decision.verdict === 'banned') return bannedWindow(decision, minute ?? day)
  if (!minute || !day) return minute ?? day
  if (decision.verdict === 'refused') return day.remaining < cost ? day : minute
  return day.remaining <= minute.remaining ? day : minute
}

/** Both windows; one that has no limit is left out. */
export function windows(
  { nowMs, minuteUsed, dayUsed }: Decision,
  { perMinute, perDay }: Limits,
): { minute?: Window; day?: Window } {
  return {
    ...(perMinute === Infinity ? {} : { minute: window(perMinute, minuteUsed, nowMs, minuteMs) }),
    ...(perDay === Infinity ? {} : { day: window(perDay, dayUsed, nowMs, dayMs) }),
  }
}

/** Whole seconds after which the window is a new one: who waits exactly so long is let in. */
export function secondsToWait(resetMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((Math.ceil(resetMs / 1000) * 1000 - nowMs) / 1000))
}

function window(limit: number, used: number, nowMs: number, lengthMs: number): Window {
  // A limit that was lowered below what is used leaves nothing, not less than nothing.
  const remaining = Math.max(0, limit - used)
  return { limit, remaining, resetMs: (Math.floor(nowMs / lengthMs) + 1) * lengthMs }
}

function bannedWindow({ bannedUntilMs }: Decision, told: Window | undefined): Window | undefined {
  return told && { limit: told.limit, remaining: 0, resetMs: bannedUntilMs }
}
