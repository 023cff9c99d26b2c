import { earnedEnd } from './ban-ends.ts'
import type { Standing } from './headers.ts'
import { pointsAt, type NearDay } from './near.ts'
import type { Decision } from './step.ts'

/** A standing as it would be if a window had no room for a request; `undefined` for a window without a limit. */
export function usedUp(
  { decision, limits }: Standing,
  window: 'minute' | 'day',
  cost: number,
): Standing | undefined {
  const { perMinute, perDay } = limits
  if ((window === 'minute' ? perMinute : perDay) === Infinity) return undefined
  const isDay = window === 'day'
  const minuteUsed = isDay ? Math.min(decision.minuteUsed, perMinute) : perMinute
  // If the day had no room either, it would be told first.
  const dayUsed = isDay ? perDay : Math.max(0, Math.min(decision.dayUsed, perDay - cost))
  const seen = { ...decision.seen, minuteUsed, dayUsed, dayGivenBack: 0 }
  const acted: Decision = { ...decision, verdict: 'refused', cost, minuteUsed, dayUsed, seen }
  return { decision: acted, limits }
}

/** A standing as it would be during an earned ban. */
export function banned({ decision, limits }: Standing, forMs: number): Standing {
  const bannedUntilMs = earnedEnd(decision.nowMs + forMs)
  return { decision: { ...decision, verdict: 'banned', bannedUntilMs }, limits }
}

/** A standing as it would be once a day is near its end; `undefined` for a caller that is never told. */
export function nearEnd(
  { decision, limits }: Standing,
  near: NearDay | undefined,
): Standing | undefined {
  if (!near) return undefined
  const dayUsed = Math.max(decision.dayUsed, pointsAt(near.percent, limits.perDay))
  const seen = { ...decision.seen, dayUsed, dayGivenBack: 0 }
  return { decision: { ...decision, dayUsed, seen }, limits }
}
