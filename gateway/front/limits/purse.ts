import { limitOf } from './limits.ts'
import { noteBeyondPoints, type Included } from './beyond.ts'
import {
  adjust,
  countedIn,
  givenBackIn,
  numberOf,
  usedIn,
  type Adjustment,
  type Counters,
} from './counters.ts'
import { runningPart, type Parts } from './parts.ts'
import { takeLarger } from './recount.ts'
import { dayWindow, type Window } from '../../../shared/windows.ts'
import type { PastPoints } from './past-points.ts'

/**
 * The points that a quota has bought in advance. Both totals only grow, so that of two stores the one with more is right.
 * Their difference is left; it is below 0 where an answer has cost more than was left.
 */
export type Purse = {
  /** All points that came in: bought ones, and those that came back from requests. */
  bought: number
  /** All points that went out: taken by requests, or by an operator's correction. */
  spent: number
  /** How many top-ups there were, and the points of the last one. Corrections are none. */
  topUps: number
  last: number
  /** The last command of an operator that is in it, where a file has commands. */
  applied?: number | undefined
}

/** The name of the part of a quota that counts which of its points were bought ones. */
export const takenPart = 'pre:taken'

/** A prepaid window and its purse after a decision. */
export type PurseState = Readonly<
  Purse & {
    window: Window
    /** The included points that are left. */
    room: number
    /** The points of the request that were bought ones. */
    took: number
    taken: Counters
  }
>

/** A quota, as far as it matters here. */
type Holder = Counters & {
  purse?: Purse | undefined
  parts?: Parts | undefined
  beyond?: PastPoints | undefined
  resetGeneration?: number | undefined
}

export function newPurse(): Purse {
  return { bought: 0, spent: 0, topUps: 0, last: 0 }
}

/** A purse as a text, which Redis keeps. */
export function purseText({ bought, spent, topUps, last }: Readonly<Purse>): string {
  return [bought, spent, topUps, last].join()
}

/** `undefined` for a damaged text. */
export function purseFrom(text: string): Purse | undefined {
  if (!/^\d+(?:,\d+){3}$/.test(text)) return undefined
  const [bought = 0, spent = 0, topUps = 0, last = 0] = text.split(',').map(Number)
  return { bought, spent, topUps, last }
}

/** The bought points that are left. */
export function leftIn({ bought, spent }: Pick<Purse, 'bought' | 'spent'>): number {
  return bought - spent
}

/** The points that a prepaid window has used, with those that are left, included or bought. */
export function limitWith(
  purse: Pick<PurseState, 'room' | 'bought' | 'spent'>,
  used: number,
): number {
  return used + purse.room + Math.max(0, leftIn(purse))
}

/** The bought points that were taken in the window that counters are in: the part may not have begun it. */
export function takenIn(taken: Counters | undefined, counters: Counters, window: Window): number {
  return taken && numberOf(taken, window) === numberOf(counters, window) ? usedIn(taken, window) : 0
}

/** A prepaid window whose included points are taken first. */
export function purseState(
  state: Holder,
  taken: Counters,
  window: Window,
  included: Included | undefined,
  took = 0,
): PurseState {
  const ofIncluded = Math.max(0, usedIn(state, window) - takenIn(taken, state, window))
  const room = Math.max(0, (included ? limitOf(included, window) : 0) - ofIncluded)
  return { ...(state.purse ?? newPurse()), window, room, took, taken }
}

/** Takes the points of a request that aren't included, and says how many. */
export function takeBought(state: Holder, { room, taken }: PurseState, cost: number): number {
  const took = Math.max(0, cost - room)
  if (took === 0) return 0
  pay(state, took)
  taken.total += took
  const parts = (state.parts ??= new Map<string, Counters>())
  parts.set(takenPart, taken)
  noteBeyondPoints(state, state, took)
  return took
}

/**
 * Adjusts the purse before the counters of its quota are adjusted, and gives the bought points that this took; below 0 if some
 * came back. Bought points come back before included ones, also after the end of their window.
 */
export function adjustPurse(
  state: Holder,
  { points, isAnswered, isLate = false }: Adjustment,
  admission: Counters,
  admitted: PurseState,
  included: Included | undefined,
  nowMs: number,
): number {
  const { window } = admitted
  const isReset = admission.generation < (state.resetGeneration ?? 0)
  const isRunning = !isReset && numberOf(state, window) === numberOf(admission, window)
  const taken = runningPart(state, takenPart, admission, nowMs)
  const { room } = isRunning ? purseState(state, taken, window, included) : admitted
  const most = isRunning && !isLate && state.purse ? takenIn(taken, state, window) : admitted.took
  const more = points < 0 ? -Math.min(-points, most) : Math.max(0, points - room)
  if (more === 0) return 0
  if (!isReset) adjust(taken, { points: more, isAnswered }, admission)
  pay(state, more)
  noteBeyondPoints(state, admission, more)
  return more
}

/** Takes the larger totals that a gateway has seen: a store may have lost writes. */
export function healPurse(state: { purse?: Purse | undefined }, seen: Readonly<Purse>): void {
  const purse = (state.purse ??= newPurse())
  if (seen.topUps > purse.topUps) {
    purse.topUps = seen.topUps
    purse.last = seen.last
  }
  purse.bought = Math.max(purse.bought, seen.bought)
  purse.spent = Math.max(purse.spent, seen.spent)
}

/** Takes the larger counts of bought points that a gateway has seen in the same generation. */
export function healTaken(state: Holder, seen: Counters, nowMs: number): void {
  const taken = runningPart(state, takenPart, seen, nowMs)
  const before = usedIn(taken, dayWindow)
  takeLarger(taken, seen)
  noteBeyondPoints(state, state, usedIn(taken, dayWindow) - before)
}

/** Adds the bought points that a gateway has taken without the store. Their counts are a part of the report. */
export function settlePurse(state: Holder, report: Counters, taken: Counters): void {
  pay(state, countedIn(taken, dayWindow))
  pay(state, -givenBackIn(taken, dayWindow))
  noteBeyondPoints(state, report, usedIn(taken, dayWindow))
}

/** The purse of which one of some gateways may take by itself: its part of what is left, rounded up. */
export function shareOfPurse(purse: Readonly<Purse>, gateways: number): Purse {
  const left = leftIn(purse)
  return { ...purse, bought: purse.spent + (left > 0 ? Math.ceil(left / gateways) : left) }
}

/** A purse after an operator's top-up, or a correction where the points are below 0. */
export function topped(purse: Readonly<Purse>, points: number): Purse {
  if (points < 0) return { ...purse, spent: purse.spent - points }
  const { bought, topUps } = purse
  return { ...purse, bought: bought + points, topUps: topUps + 1, last: points }
}

/** Points below 0 come in. */
function pay(state: { purse?: Purse | undefined }, points: number): void {
  const purse = (state.purse ??= newPurse())
  if (points > 0) purse.spent += points
  else purse.bought -= points
}
