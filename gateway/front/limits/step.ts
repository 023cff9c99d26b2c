import { isBlank, newConduct, refuse, type BanRules, type Conduct } from './conduct.ts'
import {
  adjust as adjustCounters,
  areRunning,
  copyOf,
  fits,
  newCounters,
  numberOf,
  roll as rollCounters,
  setMonthFrom,
  usedIn,
  type Adjustment,
  type Counters,
} from './counters.ts'
import { noteBeyond, type Included } from './beyond.ts'
import { grantedIn, raised, type Granted, type QuotaGrants } from './grants.ts'
import { countsBrief, type Limits } from './limits.ts'
import { withPoints, type PastPoints } from './past-points.ts'
import {
  adjustParts,
  healParts,
  partAt,
  settleParts,
  type Part,
  type PartCounters,
  type Parts,
  type PartState,
} from './parts.ts'
import { addReport, empty, takeLarger } from './recount.ts'
import { dayWindow, longest, type Window } from '../../../shared/windows.ts'

/** All state of one quota, which belongs to a key or to an account with several keys. */
export type QuotaState = Counters & {
  conducts: Map<string, Conduct> | undefined
  /** The points that operators have added to the limits of present windows. */
  grants?: QuotaGrants | undefined
  /** The operations and caps that were counted this month. */
  parts?: Parts | undefined
  /** The points of days that the counters have left: what the ledger tells doesn't end with them. */
  past?: PastPoints | undefined
  /** The points of each day that weren't included: of the present one, too. */
  beyond?: PastPoints | undefined
  /** The generation that the last reset began: bans and lifts begin generations, too, but leave the counts. */
  resetGeneration?: number | undefined
  /** The number of each gateway's last settled report, by gateway. */
  settled?: Map<string, number>
}

/** The last counters that a gateway has seen. If the store has less, it has lost writes. */
export type Seen = Readonly<Counters & { bannedUntilMs: number; parts?: PartCounters | undefined }>

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

export type Ask = Readonly<{
  /** The key of the request: strikes and bans belong to it, not to its account. */
  key: string
  cost: number
  /** The points that must have room, where they are more than the cost: of a request whose cost only its answer tells. */
  least?: number | undefined
  limits: Limits
  /** Limits beyond which points are metered, up to those that refuse. */
  included?: Included | undefined
  /** The operation and the cap that a request is counted in, too. All have room, or nothing is counted. */
  parts?: readonly Part[] | undefined
  /** Whether brief windows are counted as well: where they are limited, and where a shadow limits them. */
  countsBrief?: boolean | undefined
  bans?: BanRules | undefined
  seen?: Seen | undefined
  /** An estimate of the store's time, by which a remote store may predict windows. */
  atMs?: number | undefined
  owed?: Owed | undefined
  slot?: CacheSlot | undefined
}>

/** A slot of the caller's in which a store may keep its record of the quota, which spares a look-up. */
export type CacheSlot = { record?: object | undefined }

/** Points by the names of the limits of their windows. */
export type Elsewhere = Granted

/** One decision, with all that headers and later decisions need. */
export type Decision = Readonly<{
  /** `unavailable`: the store can't be asked, and `whenUnreachable` is `deny`. */
  verdict: 'admitted' | 'refused' | 'banned' | 'unavailable'
  /** The store's time of the decision. */
  nowMs: number
  cost: number
  /** The points that had to have room, where they are more than the cost. */
  least?: number | undefined
  /** The number of strikes that still count. */
  strikes: number
  /** The end of the key's ban; 0 without a ban. */
  bannedUntilMs: number
  /** Whether this request is the one that banned the key. */
  bans: boolean
  seen: Seen
  /** The parts of the question, and their counters. */
  parts?: readonly PartState[] | undefined
  /** Points that count as used beside the counters, by window: the shares of other gateways during an outage. */
  elsewhere?: Elsewhere | undefined
  /** The points that operators have added to the limits of the question. */
  granted?: Granted | undefined
  /** The limits beyond which points are metered, with what was granted. */
  included?: Included | undefined
  /** Whether it was let in above its limits, and counted nowhere: `whenUnreachable` is `allow`. */
  isUncounted?: boolean
  /** The place of the decision: the store, this gateway's memory of an earlier refusal, or this gateway alone during an outage. */
  decidedBy: 'store' | 'memory' | 'alone'
}>

/** The points of a window that a decision counts as used. */
export function usedBy({ seen, elsewhere }: Decision, window: Window): number {
  return usedIn(seen, window) + (elsewhere?.[window.limit] ?? 0)
}

/**
 * Decides one request and counts it: ban, windows and strike, all in one step. The script for
 * Redis does the same, line by line; one suite of tests holds both against one model.
 */
export function step(state: QuotaState, ask: Ask, nowMs: number): Decision {
  const { key, cost, least, limits, bans } = ask
  const needed = neededBy(ask)
  roll(state, nowMs, ask.countsBrief ?? countsBrief(limits))
  const conduct = state.conducts?.get(key) ?? newConduct()
  const healed = ask.seen ? heal(state, ask.seen, nowMs, conduct) : 0
  const granted = state.grants && grantedIn(state.grants, state)
  const included = includedIn(ask, granted)
  if (healed > 0) noteBeyond(state, state, healed, included)
  if (ask.owed) settle(state, ask.owed, nowMs)
  const parts = ask.parts?.map((part) => ({ part, counters: partAt(state, part, nowMs) }))
  if (parts && ask.seen?.generation === state.generation) healParts(parts, ask.seen.parts)
  let verdict: Decision['verdict'] = 'admitted'
  let banned = false
  if (conduct.bannedUntilMs > nowMs) {
    verdict = 'banned'
  } else if (
    needed > 0 &&
    !fitsAll(state, parts, needed, granted ? raised(limits, granted) : limits)
  ) {
    banned = bans !== undefined && refuse(conduct, bans, nowMs)
    verdict = banned ? 'banned' : 'refused'
  } else if (needed > 0) {
    state.total += cost
    if (parts) countInParts(state, parts, cost)
    if (included) noteBeyond(state, state, cost, included)
    conduct.refusedAtMs = 0
  }
  if (!isBlank(conduct)) (state.conducts ??= new Map()).set(key, conduct)
  return decision(state, conduct, {
    verdict,
    bans: banned,
    cost,
    least,
    nowMs,
    granted,
    included,
    parts,
  })
}

/** The points that must have room for a request. */
export function neededBy({ cost, least = 0 }: Pick<Ask, 'cost' | 'least'>): number {
  return Math.max(cost, least)
}

/** The limits of a question beyond which points are metered, with what was granted. */
export function includedIn(
  { included }: Pick<Ask, 'included'>,
  granted: Granted | undefined,
): Included | undefined {
  return included && granted ? raised(included, granted) : included
}

function fitsAll(
  state: QuotaState,
  parts: readonly PartState[] | undefined,
  cost: number,
  limits: Limits,
): boolean {
  if (!fits(state, cost, limits)) return false
  return !parts || parts.every(({ part, counters }) => fits(counters, cost, part.limits))
}

function countInParts(state: QuotaState, parts: readonly PartState[], cost: number): void {
  const all = (state.parts ??= new Map<string, Counters>())
  for (const { part, counters } of parts) {
    counters.total += cost
    all.set(part.name, counters)
  }
}

/** A quota without any usage. */
export function newQuota(): QuotaState {
  return { ...newCounters(), conducts: undefined }
}

/** The state of a key's limits; counts nothing. */
export function standing(
  state: QuotaState,
  { key, limits, included }: Pick<Ask, 'key' | 'limits' | 'included'>,
  nowMs: number,
): Decision {
  roll(state, nowMs, countsBrief(limits))
  const conduct = state.conducts?.get(key) ?? newConduct()
  const granted = state.grants && grantedIn(state.grants, state)
  return decision(state, conduct, {
    ...{ verdict: 'admitted', bans: false, cost: 0, nowMs, granted },
    included: includedIn({ included }, granted),
  })
}

/** An admission that is adjusted: the counters after it, those of its parts, and the last ones that the gateway has seen. */
export type Admission = Readonly<{
  counters: Counters
  parts?: PartCounters | undefined
  seen?: Seen | undefined
  included?: Included | undefined
}>

/** Adjusts the windows of an admission that still run; of an ended day, what it has left behind. */
export function adjust(
  state: QuotaState,
  adjustment: Adjustment,
  { counters: admission, parts, seen, included }: Admission,
  nowMs: number,
): void {
  // An admission of cost 0 may have begun windows that weren't kept.
  roll(state, nowMs)
  const healed = seen ? heal(state, seen, nowMs) : 0
  if (healed > 0) noteBeyond(state, state, healed, included)
  const before = usedIn(state, dayWindow)
  if (admission.generation >= (state.resetGeneration ?? 0)) {
    const seenParts = seen?.generation === state.generation ? seen.parts : undefined
    adjustParts(state, adjustment, { parts, seenParts, nowMs })
    adjustCounters(state, adjustment, admission)
  }
  leave(state, admission, adjustment.points - (usedIn(state, dayWindow) - before))
  noteBeyond(state, admission, adjustment.points, included)
}

/** Empties all windows, because an operator has reset the quota. For the ledger its points stay. */
export function reset(state: QuotaState): void {
  state.resetGeneration = state.generation
  leaveDay(state, numberOf(state, dayWindow), usedIn(state, dayWindow))
  empty(state)
  state.parts = undefined
}

/** Adds points to what a day has left behind. */
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
  // All windows of parts have ended with it.
  if (state.parts && numberOf(state, longest) !== month) state.parts = undefined
}

/**
 * Takes the larger of the stored counters and those that a gateway has seen: a store may have lost writes. Gives the points
 * of the day that it had lost.
 */
function heal(state: QuotaState, seen: Seen, nowMs: number, conduct = newConduct()): number {
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
  conduct.bannedUntilMs = Math.max(conduct.bannedUntilMs, seen.bannedUntilMs)
  return usedIn(state, dayWindow) - before
}

/** Adds the points that a gateway admitted without the store: to windows that still run, else to what is past. */
function settle(state: QuotaState, owed: Owed, nowMs: number): void {
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
  noteBeyond(state, owed, points, owed.included)
}

type Outcome = Pick<
  Decision,
  'verdict' | 'bans' | 'cost' | 'least' | 'nowMs' | 'granted' | 'included' | 'parts'
>

function decision(
  state: QuotaState,
  conduct: Conduct,
  { verdict, bans, cost, least, nowMs, granted, included, parts }: Outcome,
): Decision {
  const bannedUntilMs = conduct.bannedUntilMs > nowMs ? conduct.bannedUntilMs : 0
  return {
    verdict,
    nowMs,
    cost,
    least,
    strikes: conduct.strikesMs.length,
    bannedUntilMs,
    bans,
    seen: { ...copyOf(state), bannedUntilMs },
    parts: parts?.map(({ part, counters }) => ({ part, counters: copyOf(counters) })),
    elsewhere: undefined,
    granted,
    included,
    decidedBy: 'store',
  }
}
