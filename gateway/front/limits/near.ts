import { usedIn } from './counters.ts'
import type { Standing } from './headers.ts'
import { isLimited, limitOf, type Limits } from './limits.ts'
import { usedBy } from './step.ts'
import { longestFirst, windows, type Window, type WindowName } from '../../../shared/windows.ts'

/** Says that much of a window is used: a whole percentage of its limit, rounded down. */
export type Notice = Readonly<{ window: WindowName; used: number }>

/** The windows whose ends callers are told of, the longest first: those that last for a day and longer. */
export const toldOfEnd: readonly Window[] = longestFirst.filter(isLong)

/** A window, and its points from which on its end is near, without grants. */
type NearEnd = Readonly<{ window: Window; points: number }>

/** The lowest percentage that is worth a notice, and the windows that have a limit, the longest first. */
export type NearEnds = Readonly<{ percent: number; ends: readonly NearEnd[] }>

/** When notices begin by these percentages, which rise; `undefined` for unlimited windows, or without percentages. */
export function nearEnds([percent]: readonly number[], limits: Limits): NearEnds | undefined {
  const limited = toldOfEnd.filter((window) => isLimited(limits, window))
  if (percent === undefined || limited.length === 0) return undefined
  return {
    percent,
    ends: limited.map((window) => {
      return { window, points: pointsAt(percent, limitOf(limits, window)) }
    }),
  }
}

/** The use of a window from which a percentage of its limit is reached. */
export function pointsAt(percent: number, limit: number): number {
  return Math.ceil((percent * limit) / 100)
}

/**
 * The notice for a caller, of the window of which more percent are used; of equals the longer one. `undefined` while none
 * is near its end, and during a ban, which is told alone.
 */
export function noticeOf(
  { decision, limits }: Standing,
  near: NearEnds | undefined,
): Notice | undefined {
  if (!near || decision.verdict === 'banned') return undefined
  let notice: Notice | undefined
  for (const { window, points } of near.ends) {
    // Grants only raise a limit, so most callers are done here.
    if (usedBy(decision, window) < points) continue
    // The counters alone: the shares of other gateways during an outage may not have been used.
    const used = usedIn(decision.seen, window)
    const limit = limitOf(limits, window)
    if (used < pointsAt(near.percent, limit)) continue
    // A limit may have been lowered below the use.
    const percent = Math.min(100, Math.floor((used * 100) / limit))
    if (!notice || percent > notice.used) notice = { window: window.name, used: percent }
  }
  return notice
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

function isLong(window: Window): boolean {
  return windows.indexOf(window) >= windows.findIndex(({ name }) => name === 'day')
}
