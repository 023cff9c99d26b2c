import type { Standing } from './headers.ts'
import type { Limits } from './limits.ts'

/** Says that much of a day is used: a whole percentage of its limit, rounded down. */
export type Notice = Readonly<{ window: 'day'; used: number }>

/** The lowest percentage that is worth a notice, and its points of a day without grants. */
export type NearDay = Readonly<{ percent: number; points: number }>

/** When notices begin by these percentages, which rise; `undefined` for an unlimited day, or without percentages. */
export function nearDay([percent]: readonly number[], { perDay }: Limits): NearDay | undefined {
  if (percent === undefined || perDay === Infinity) return undefined
  return { percent, points: pointsAt(percent, perDay) }
}

/** The use of a day from which a percentage of its limit is reached. */
export function pointsAt(percent: number, perDay: number): number {
  return Math.ceil((percent * perDay) / 100)
}

/** The notice for a caller; `undefined` while its day isn't near its end, and during a ban, which is told alone. */
export function noticeOf(
  { decision, limits: { perDay } }: Standing,
  near: NearDay | undefined,
): Notice | undefined {
  // Grants only raise a limit, so most callers are done here.
  if (!near || decision.dayUsed < near.points || decision.verdict === 'banned') return undefined
  // The counters: during an outage `dayUsed` also has the shares of other gateways, which they may not have used.
  const { dayUsed, dayGivenBack } = decision.seen
  const used = dayUsed - dayGivenBack
  if (used < pointsAt(near.percent, perDay)) return undefined
  // A limit may have been lowered below the use.
  return { window: 'day', used: Math.min(100, Math.floor((used * 100) / perDay)) }
}

/** A notice as the text of its header. */
export function noticeHeader({ window, used }: Notice): string {
  return `${window}; used=${used}`
}

/** The share of a limit from which on metrics count a request as near it, whatever the headers say. */
const nearShare = 0.8

/** Whether metrics count a window as near its limit; never without a limit. */
export function isNear(used: number, limit: number): boolean {
  return used >= limit * nearShare
}
