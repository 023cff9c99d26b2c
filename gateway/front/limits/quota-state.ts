import { newConduct, type Conduct } from './conduct.ts'
import {
  adjust as adjustCounters,
  areOver,
  areRunning,
  newCounters,
  numberOf,
  roll as rollCounters,
  setMonthFrom,
  usedIn,
  type Adjustment,
  type Counters,
} from './counters.ts'
import { noteBeyond, type Included } from './beyond.ts'
import {
  adjustPurse,
  healPurse,
  healTaken,
  settlePurse,
  takenPart,
  type Purse,
  type PurseState,
} from './purse.ts'
import type { QuotaGrants } from './grants.ts'
import type { Places } from './places.ts'
import { adjustParts, settleParts, type PartCounters, type Parts } from './parts.ts'
import { withPoints, type PastPoints } from './past-points.ts'
import { addReport, empty, takeLarger } from './recount.ts'
import { dayWindow, longest } from '../../../shared/windows.ts'

/** All state of one quota, which belongs to a key or to an account with several keys. */
export type QuotaState = Counters & {
  conducts: Map<string, Conduct> | undefined
  /** The points that operators have added to the limits of present windows. */
  grants?: QuotaGrants | undefined
  /** The operations and caps that were counted in windows that run. */
  parts?: Parts | undefined
  /** The points of days that the counters have left: what the ledger tells doesn't end with them. */
  past?: PastPoints | undefined
  /** The points of each day that weren't included: of the present one, too. */
  beyond?: PastPoints | undefined
  /** The points that were bought in advance; neither a reset nor a month's end empties it. */
  purse?: Purse | undefined
  /** The top-ups by line, only where a quota is dumped or loaded. */
  topUps?: string | undefined
  /** The generation that the last reset began: bans and lifts begin generations, too, but leave the counts. */
  resetGeneration?: number | undefined
  /** The number of each gateway's last settled report, by gateway. */
  settled?: Map<string, number>
  /** The requests under way of keys, operations and caps that limit them: only in memory, where one gateway counts. */
  places?: Places | undefined
}

/** The last counters that a gateway has seen. If the store has less, it has lost writes. */
export type Seen = Readonly<
  Counters & {
    bannedUntilMs: number
    parts?: PartCounters | undefined
    purse?: Purse | undefined
  }
>

/**
 * A gateway's report of the points that it admitted without the store, in the windows that ran, with those that couldn't
 * be given back. Its generation is the one that the gateway knew: after a reset it is void, except for the ledger.
 */
export type Owed = Readonly<
  Counters & {
    /** The gateway, and the number of its report: a repeated report isn't counted again. */
    by: string
    number: number
    parts?: PartCounters | undefined
    included?: Included | undefined
  }
>

/** A quota without any usage. */
export function newQuota(): QuotaState {
  return { ...newCounters(), conducts: undefined }
}

/** An admission that is adjusted: the counters after it, those of its parts, and the last ones that the gateway has seen. */
export type Admission = Readonly<{
  counters: Counters
  parts?: PartCounters | undefined
  seen?: Seen | undefined
  included?: Included | undefined
  /** The purse after it, of a prepaid window. */
  purse?: PurseState | undefined
  /** Stores in this process needn't look at it: nothing is repeated there. */
  numbered?: Numbered | undefined
}>

/**
 * The gateway of an adjustment, its number there, and the number below which that gateway repeats none for this quota. It
 * repeats those of which it doesn't know whether they were made.
 */
export type Numbered = Readonly<{ by: string; number: number; from: number }>

/**
 * Adjusts the windows of an admission that still run; of an ended day, the points that the ledger tells. Gives how many of the
 * points were bought ones.
 */
export function adjust(
  state: QuotaState,
  adjustment: Adjustment,
  { counters: admission, parts, seen, included, purse }: Admission,
  nowMs: number,
): number {
  // An admission of cost 0 may have begun windows that weren't kept.
  roll(state, nowMs)
  const healed = seen ? heal(state, seen, nowMs) : 0
  if (healed > 0 && !purse) noteBeyond(state, state, healed, included)
  const bought = purse ? adjustPurse(state, adjustment, admission, purse, included, nowMs) : 0
  const before = usedIn(state, dayWindow)
  if (admission.generation >= (state.resetGeneration ?? 0)) {
    const seenParts = seen?.generation === state.generation ? seen.parts : undefined
    adjustParts(state, adjustment, { parts, seenParts, nowMs })
    adjustCounters(state, adjustment, admission)
  }
  leave(state, admission, adjustment.points - (usedIn(state, dayWindow) - before))
  if (!purse) noteBeyond(state, admission, adjustment.points, included)
  return bought
}

/** Empties all windows, because an operator has reset the quota. For the ledger its points stay. */
export function reset(state: QuotaState): void {
  state.resetGeneration = state.generation
  leaveDay(state, numberOf(state, dayWindow), usedIn(state, dayWindow))
  empty(state)
  state.parts = undefined
}

/** Adds points to those of an ended day. */
function leaveDay(state: QuotaState, day: number, points: number): void {
  if (points > 0) state.past = withPoints(state.past, day, points, numberOf(state, dayWindow))
}

/** Adds points of an earlier question that the day in the counters didn't take. */
function leave(state: QuotaState, counted: Counters, points: number): void {
  if (points === 0 || (points < 0 && !state.past)) return
  const today = numberOf(state, dayWindow)
  state.past = withPoints(state.past, numberOf(counted, dayWindow), points, today)
}

/** Begins new windows where the old ones have ended. */
export function roll(state: QuotaState, nowMs: number, countsBrief = false): void {
  if (!countsBrief && areRunning(state, nowMs)) return
  const [day, points] = [numberOf(state, dayWindow), usedIn(state, dayWindow)]
  const month = numberOf(state, longest)
  rollCounters(state, nowMs, countsBrief)
  if (numberOf(state, dayWindow) !== day) leaveDay(state, day, points)
  if (state.parts && numberOf(state, longest) !== month) forgetOver(state.parts, nowMs)
}

/** Forgets the parts that are over. */
function forgetOver(parts: Parts, nowMs: number): void {
  for (const [name, counters] of parts) if (areOver(counters, nowMs)) parts.delete(name)
}

/**
 * Takes the larger of the stored counters and those that a gateway has seen: a store may have lost writes. Gives the points
 * of the day that it had lost.
 */
export function heal(state: QuotaState, seen: Seen, nowMs: number, conduct = newConduct()): number {
  if (seen.purse) healPurse(state, seen.purse)
  if (seen.generation < state.generation) return 0
  const before = usedIn(state, dayWindow)
  if (seen.generation > state.generation) {
    state.generation = seen.generation
    empty(state)
    state.parts = undefined
    setMonthFrom(state, seen.monthFrom, nowMs)
    conduct.bannedUntilMs = 0
  }
  takeLarger(state, seen)
  const taken = seen.parts?.get(takenPart)
  if (taken) healTaken(state, taken, nowMs)
  conduct.bannedUntilMs = Math.max(conduct.bannedUntilMs, seen.bannedUntilMs)
  return usedIn(state, dayWindow) - before
}

/** Adds the points that a gateway admitted without the store: to windows that still run, else to what is past. */
export function settle(state: QuotaState, owed: Owed, nowMs: number): void {
  const settled = (state.settled ??= new Map())
  if (owed.number <= (settled.get(owed.by) ?? 0)) return
  settled.set(owed.by, owed.number)
  const before = usedIn(state, dayWindow)
  if (owed.generation >= (state.resetGeneration ?? 0)) {
    addReport(state, owed)
    settleParts(state, owed.parts, nowMs)
  }
  const points = usedIn(owed, dayWindow)
  leave(state, owed, points - (usedIn(state, dayWindow) - before))
  const taken = owed.parts?.get(takenPart)
  if (taken) settlePurse(state, owed, taken)
  else noteBeyond(state, owed, points, owed.included)
}
