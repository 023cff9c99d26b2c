import { isBlank, newConduct, refuse, rulesFor, type BanRules, type Conduct } from './conduct.ts'
import { copyOf, endOf, fullWindow, usedIn, usedOf, type Counters } from './counters.ts'
import { noteBeyond, type Included } from './beyond.ts'
import { grantedIn, raised, type Granted } from './grants.ts'
import { countsBrief, noLimits, type Limits } from './limits.ts'
import type { Place } from './place.ts'
import { limitWith, purseState, takeBought, takenPart, type PurseState } from './purse.ts'
import { healParts, partAt, type Part, type PartState } from './parts.ts'
import {
  crowded,
  partsWithPlaces,
  placeStates,
  roomsFor,
  takePlaces,
  type PlaceAsk,
  type PlaceRoom,
  type PlaceState,
} from './places.ts'
import { heal, roll, settle, type Owed, type QuotaState, type Seen } from './quota-state.ts'
import type { Window } from '../../../shared/windows.ts'

export type Ask = Readonly<{
  /** The key of the request: strikes and bans belong to it, not to its account. */
  key: string
  cost: number
  /** The points that must have room, where they are more than the cost: of a request whose cost only its answer tells. */
  least?: number | undefined
  limits: Limits
  /** Limits beyond which points are metered, up to those that refuse. */
  included?: Included | undefined
  /** The window in which what isn't included is taken from points that were bought. */
  prepaid?: Window | undefined
  /** The operation and the cap that a request is counted in, too. All have room, or nothing is counted. */
  parts?: readonly Part[] | undefined
  /** Whether brief windows are counted as well: where they are limited, and where a shadow limits them. */
  countsBrief?: boolean | undefined
  bans?: BanRules | undefined
  seen?: Seen | undefined
  /** An estimate of the store's time, by which a remote store may predict windows. */
  atMs?: number | undefined
  owed?: Owed | undefined
  /** The places of requests under way, of a question where these are limited. */
  place?: PlaceAsk | undefined
  slot?: CacheSlot | undefined
  /** Hears of a decision that a remote store has made after the question was given up. */
  late?: ((quota: string, decision: Decision) => Promise<void>) | undefined
}>

/** A slot of the caller's in which a store may keep its record of the quota, which spares a look-up. */
export type CacheSlot = { record?: object | undefined }

/** Points by the names of the limits of their windows. */
export type Elsewhere = Granted

/** One decision, with all that headers and later decisions need. */
export type Decision = Readonly<{
  /**
   * `refused` by a window, `crowded` by requests under way; `unavailable`: the store can't be asked, and `whenUnreachable` is
   * `deny`.
   */
  verdict: 'admitted' | 'refused' | 'crowded' | 'banned' | 'unavailable'
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
  /** The points that each window has used by these counters, by its place among all windows: nobody counts them again. */
  used: readonly number[]
  /** The parts of the question, and their counters. */
  parts?: readonly PartState[] | undefined
  /** Points that count as used beside the counters, by window: the shares of other gateways during an outage. */
  elsewhere?: Elsewhere | undefined
  /** How many requests are under way, in the parts of the question that limit them. */
  places?: readonly PlaceState[] | undefined
  /** The place that the request has taken until it is over. */
  place?: Place | undefined
  /** Of a crowded quota: the oldest requests of this gateway, and whether all of them are such as last. */
  underWay?: Readonly<{ ids: readonly string[]; allLast: boolean }> | undefined
  /** The points that operators have added to the limits of the question. */
  granted?: Granted | undefined
  /** The limits beyond which points are metered, with what was granted. */
  included?: Included | undefined
  /** The points that were bought, where the question has a prepaid window. */
  purse?: PurseState | undefined
  /** Whether it was let in above its limits, and counted nowhere: `whenUnreachable` is `allow`. */
  isUncounted?: boolean
  /** The place of the decision: the store, this gateway's memory of an earlier refusal, or this gateway alone during an outage. */
  decidedBy: 'store' | 'memory' | 'alone'
}>

/** The points of a window that a decision counts as used. */
export function usedBy(decision: Decision, window: Window): number {
  return usedHere(decision, window) + (decision.elsewhere?.[window.limit] ?? 0)
}

/** The points of a window by the counters alone: the shares of other gateways during an outage may not have been used. */
export function usedHere({ used }: Pick<Decision, 'used'>, { index }: Window): number {
  return used[index] ?? 0
}

/**
 * Decides one request and counts it: ban, windows and strike, all in one step. The script for
 * Redis does the same, line by line; one suite of tests holds both against one model.
 */
export function step(state: QuotaState, ask: Ask, nowMs: number): Decision {
  const { key, cost, least, limits, bans } = ask
  const needed = neededBy(ask)
  roll(state, nowMs, ask.countsBrief ?? countsBrief(limits))
  // Most keys have none, and need none.
  let conduct = state.conducts?.get(key)
  const healed = ask.seen ? heal(state, ask.seen, nowMs, (conduct ??= newConduct())) : 0
  const granted = state.grants && grantedIn(state.grants, state)
  const included = includedIn(ask, granted)
  if (healed > 0 && !ask.prepaid) noteBeyond(state, state, healed, included)
  if (ask.owed) settle(state, ask.owed, nowMs)
  const parts = ask.parts?.map((part) => ({ part, counters: partAt(state, part, nowMs) }))
  if (parts && ask.seen?.generation === state.generation) healParts(parts, ask.seen.parts)
  let purse = ask.prepaid && purseOf(state, ask.prepaid, included, nowMs)
  const present = granted ? raised(limits, granted) : limits
  const most = purse ? withPurse(present, purse, usedIn(state, purse.window)) : present
  const full = needed > 0 ? longestFull(state, parts, needed, most) : undefined
  let rooms = ask.place && roomsFor(state, partsWithPlaces(limits, ask.parts), ask.place, nowMs)
  let verdict: Decision['verdict'] = 'admitted'
  let banned = false
  if (conduct && conduct.bannedUntilMs > nowMs) {
    verdict = 'banned'
  } else if (full) {
    if (bans && full.window.strikes) {
      conduct ??= newConduct()
      banned = refuse(conduct, rulesFor(bans, needed), nowMs)
    }
    verdict = banned ? 'banned' : 'refused'
  } else if (rooms && !ask.place?.isLook && crowded(rooms)) {
    verdict = 'crowded'
  } else {
    if (rooms && ask.place) rooms = takePlaces(rooms, ask.place, nowMs)
    if (needed > 0) {
      state.total += cost
      if (parts) countInParts(state, parts, cost)
      if (purse) {
        const took = takeBought(state, purse, cost)
        purse = purseState(state, purse.taken, purse.window, included, took)
      } else if (included) noteBeyond(state, state, cost, included)
      if (conduct) conduct.refusedAtMs = 0
    }
  }
  if (conduct && !isBlank(conduct)) (state.conducts ??= new Map()).set(key, conduct)
  return decision(state, conduct, {
    verdict,
    bans: banned,
    cost,
    least,
    nowMs,
    granted,
    included,
    parts,
    purse,
    rooms,
  })
}

/** The limits by which a decision was made. That of a prepaid window is what was used in it with all that is left. */
export function limitsIn(
  { granted, purse, used }: Pick<Decision, 'granted' | 'purse' | 'used'>,
  limits: Limits,
): Limits {
  const present = granted ? raised(limits, granted) : limits
  return purse ? withPurse(present, purse, used[purse.window.index] ?? 0) : present
}

function withPurse(limits: Limits, purse: PurseState, used: number): Limits {
  return { ...limits, [purse.window.limit]: limitWith(purse, used) }
}

/** The purse of a question. */
export function purseOf(
  state: Pick<QuotaState, 'purse' | 'parts'> & Counters,
  window: Window,
  included: Included | undefined,
  nowMs: number,
  took = 0,
): PurseState {
  return purseState(state, partAt(state, purseTaken, nowMs), window, included, took)
}

/** What the bought points of a quota are counted in. */
const purseTaken: Part = { name: takenPart, operation: undefined, limits: noLimits }

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

/** A window without room, and the counters that say so. */
export type Full = Readonly<{ window: Window; counters: Counters }>

/** The window of a quota or of its parts without room for points that ends last, of equals the longest; `undefined` if all have room. */
export function longestFull(
  quota: Counters,
  parts: readonly PartState[] | undefined,
  cost: number,
  limits: Limits,
): Full | undefined {
  const ofQuota = fullWindow(quota, cost, limits)
  let longest: Full | undefined = ofQuota && { window: ofQuota, counters: quota }
  for (const { part, counters } of parts ?? []) {
    const window = fullWindow(counters, cost, part.limits)
    if (window && (!longest || stopsLonger({ window, counters }, longest)))
      longest = { window, counters }
  }
  return longest
}

function stopsLonger(one: Full, other: Full): boolean {
  const [end, otherEnd] = [one, other].map(({ counters, window }) => endOf(counters, window))
  if (end !== otherEnd) return Number(end) > Number(otherEnd)
  return one.window.index > other.window.index
}

function countInParts(state: QuotaState, parts: readonly PartState[], cost: number): void {
  const all = (state.parts ??= new Map<string, Counters>())
  for (const { part, counters } of parts) {
    counters.total += cost
    all.set(part.name, counters)
  }
}

/** The state of a key's limits; counts nothing. */
export function standing(
  state: QuotaState,
  { key, limits, included }: Pick<Ask, 'key' | 'limits' | 'included'>,
  nowMs: number,
): Decision {
  roll(state, nowMs, countsBrief(limits))
  const conduct = state.conducts?.get(key)
  const granted = state.grants && grantedIn(state.grants, state)
  return decision(state, conduct, {
    ...{ verdict: 'admitted', bans: false, cost: 0, nowMs, granted },
    included: includedIn({ included }, granted),
  })
}

type Outcome = Pick<
  Decision,
  'verdict' | 'bans' | 'cost' | 'least' | 'nowMs' | 'granted' | 'included' | 'parts' | 'purse'
> & { rooms?: readonly PlaceRoom[] | undefined }

function decision(
  state: QuotaState,
  conduct: Conduct | undefined,
  { verdict, bans, cost, least, nowMs, granted, included, parts, purse, rooms }: Outcome,
): Decision {
  const bannedUntilMs = conduct && conduct.bannedUntilMs > nowMs ? conduct.bannedUntilMs : 0
  return {
    verdict,
    nowMs,
    cost,
    least,
    strikes: conduct?.strikes ?? 0,
    bannedUntilMs,
    bans,
    seen: { ...copyOf(state), bannedUntilMs },
    used: usedOf(state),
    parts: parts?.map(({ part, counters }) => ({ part, counters: copyOf(counters) })),
    elsewhere: undefined,
    places: rooms && placeStates(rooms, verdict === 'crowded' ? crowded(rooms) : undefined),
    granted,
    included,
    purse: purse && { ...purse, taken: copyOf(purse.taken) },
    decidedBy: 'store',
  }
}
