import type { Standing } from './headers.ts'
import { beyondBy, includedPoints, type Included } from './beyond.ts'
import { limitOf, type Limits } from './limits.ts'
import { usedBy, usedHere } from './step.ts'
import { longWindows, type Window, type WindowName } from '../../../shared/windows.ts'

/**
 * Says that much of a window is used: a whole percentage of what is included, rounded down; or that more than that is, by so
 * many points.
 */
export type Notice = Readonly<
  { window: WindowName; used: number } | { window: WindowName; beyond: number }
>

/** A window, and its points from which on its end is near, without grants. */
type NearEnd = Readonly<{ window: Window; points: number }>

/** The lowest percentage that is worth a notice, and the windows that have a limit, the longest first. */
export type NearEnds = Readonly<{ percent: number; ends: readonly NearEnd[] }>

/**
 * When notices begin by these percentages, which rise; `undefined` for unlimited windows. Without percentages only what lies
 * beyond is told.
 */
export function nearEnds(
  [percent = Infinity]: readonly number[],
  limits: Limits,
  included?: Included,
): NearEnds | undefined {
  const ends = longWindows.flatMap((window) => {
    const most = includedPoints({ included }, limits, window)
    const isMetered = most < limitOf(limits, window)
    if (most === Infinity || (percent === Infinity && !isMetered)) return []
    const points = Math.min(pointsAt(percent, most), isMetered ? most + 1 : Infinity)
    return [{ window, points: Math.max(1, points) }]
  })
  return ends.length > 0 ? { percent, ends } : undefined
}

/** The use of a window from which a percentage of its limit is reached. */
export function pointsAt(percent: number, limit: number): number {
  return Math.ceil((percent * limit) / 100)
}

/**
 * The notice for a caller, of the longest window that goes beyond what is included, else of that of which more percent are
 * used, of equals the longer one. `undefined` while none is near its end, and during a ban, which is told alone.
 */
export function noticeOf(
  { decision, limits }: Standing,
  near: NearEnds | undefined,
): Notice | undefined {
  if (!near || decision.verdict === 'banned') return undefined
  let notice: Notice | undefined
  let most = 0
  for (const { window, points } of near.ends) {
    // Grants only raise a limit, so most callers are done here.
    if (usedBy(decision, window) < points) continue
    const used = usedHere(decision, window)
    const limit = includedPoints(decision, limits, window)
    const beyond = limit < limitOf(limits, window) ? beyondBy(decision, window, limit) : 0
    if (beyond > 0) return { window: window.name, beyond }
    if (used < pointsAt(near.percent, limit)) continue
    // A limit may have been lowered below the use.
    const percent = Math.min(100, Math.floor((used * 100) / limit))
    if (!notice || percent > most) notice = { window: window.name, used: percent }
    most = Math.max(most, percent)
  }
  return notice
}

/** A notice as the text of its header. */
export function noticeHeader(notice: Notice): string {
  const { window } = notice
  return 'beyond' in notice
    ? `${window}; beyond=${notice.beyond}`
    : `${window}; used=${notice.used}`
}

/** The share of a limit from which on metrics count a request as near it, whatever the headers say. */
const nearShare = 0.8

/** Whether metrics count a window as near its limit; never without a limit. */
export function isNear(used: number, limit: number): boolean {
  return used >= limit * nearShare
}
