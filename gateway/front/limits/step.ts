import { earnedEnd } from './ban-ends.ts'
import { grantedIn, raised, type Granted, type QuotaGrants } from './grants.ts'
import type { Limits } from './limits.ts'
import { withPoints, type PastPoints } from './past-points.ts'

export const minuteMs = 60_000
export const dayMs = 86_400_000

/** When strikes become a ban, and how long it lasts. */
export type BanRules = Readonly<{
  strikes: number
  withinMs: number
  graceMs: number
  forMs: number
  factor: number
  atMostMs: number
  memoryMs: number
}>

/** The counters of a quota. They only grow until their window or generation ends. */
export type Counters = {
  /** The minute and the day, counted from 1970 in UTC. */
  minute: number
  minuteUsed: number
  day: number
  dayUsed: number
  dayGivenBack: number
  /** Rises when an operator resets the quota or lifts a ban: counters seen before don't count any more. */
  generation: number
}

/** The recent refusals, strikes and bans of a key. */
export type Conduct = {
  /** When the running episode of refusals began; 0 if none runs. */
  refusedAtMs: number
  /** Times of the latest strikes, oldest first. */
  strikesMs: number[]
  /** It also says whether the ban was earned: ban-ends.ts. */
  bannedUntilMs: number
  /** The number of bans in a row that the next one continues. */
  bans: number
}

/** All state of one quota, which belongs to a key or to an account with several keys. */
export type QuotaState = Counters & {
  conducts: Map<string, Conduct> | undefined
  /** The points that operators have added to the limits of present windows. */
  grants?: QuotaGrants | undefined
  /** The points of days that the counters have left: what the ledger tells doesn't end with them. */
  past?: PastPoints | undefined
  /** The number of each gateway's last settled report, by gateway. */
  settled?: Map<string, number>
}

/** The last counters that a gateway has seen. If the store has less, it has lost writes. */
export type Seen = Readonly<Counters & { bannedUntilMs: number }>

/** A gateway's report of the points that it admitted without the store, in the windows that ran. */
export type Owed = Readonly<{
  minute: number
  minuteUsed: number
  day: number
  dayUsed: number
  /** Points that couldn't be given back to that day. */
  dayGivenBack: number
  /** The generation that the gateway knew. After a reset the report is void, except for the ledger. */
  generation: number
  /** The gateway, and the number of its report: a repeated report isn't counted again. */
  by: string
  number: number
}>

export type Ask = Readonly<{
  /** The key of the request: strikes and bans belong to it, not to its account. */
  key: string
  cost: number
  limits: Limits
  bans?: BanRules | undefined
  seen?: Seen | undefined
  owed?: Owed | undefined
  slot?: CacheSlot | undefined
}>

/** A slot of the caller's in which a store may keep its record of the quota, which spares a look-up. */
export type CacheSlot = { record?: object | undefined }

/** One decision, with all that headers and later decisions need. */
export type Decision = Readonly<{
  /** `unavailable`: the store can't be asked, and `whenUnreachable` is `deny`. */
  verdict: 'admitted' | 'refused' | 'banned' | 'unavailable'
  /** The store's time of the decision. */
  nowMs: number
  cost: number
  minuteUsed: number
  /** Without the points that were given back. */
  dayUsed: number
  /** The number of strikes that still count. */
  strikes: number
  /** The end of the key's ban; 0 without a ban. */
  bannedUntilMs: number
  /** Whether this request is the one that banned the key. */
  bans: boolean
  seen: Seen
  /** The points that operators have added to the limits of the question. */
  granted?: Granted | undefined
  /** The place of the decision: the store, this gateway's memory of an earlier refusal, or this gateway alone during an outage. */
  decidedBy: 'store' | 'memory' | 'alone'
}>

/**
 * Decides one request and counts it: ban, minute, day and strike, all in one step. The script for
 * Redis does the same, line by line; one suite of tests holds both against one model.
 */
export function step(state: QuotaState, ask: Ask, nowMs: number): Decision {
  const { key, cost, limits, bans } = ask
  roll(state, nowMs)
  const conduct = state.conducts?.get(key) ?? newConduct()
  if (ask.seen) heal(state, conduct, ask.seen)
  if (ask.owed) settle(state, ask.owed)
  const granted = state.grants && grantedIn(state.grants, state.minute, state.day)
  let verdict: Decision['verdict'] = 'admitted'
  let banned = false
  if (conduct.bannedUntilMs > nowMs) {
    verdict = 'banned'
  } else if (!fits(state, cost, granted ? raised(limits, granted) : limits)) {
    banned = bans !== undefined && refuse(conduct, bans, nowMs)
    verdict = banned ? 'banned' : 'refused'
  } else if (cost > 0) {
    state.minuteUsed += cost
    state.dayUsed += cost
    conduct.refusedAtMs = 0
  }
  if (!isBlank(conduct)) (state.conducts ??= new Map()).set(key, conduct)
  return decision(state, conduct, verdict, banned, cost, nowMs, granted)
}

/** A quota without any usage. */
export function newQuota(): QuotaState {
  return {
    minute: 0,
    minuteUsed: 0,
    day: 0,
    dayUsed: 0,
    dayGivenBack: 0,
    generation: 0,
    conducts: undefined,
  }
}

/** The state of a key's limits; counts nothing. */
export function standing(state: QuotaState, key: string, nowMs: number): Decision {
  roll(state, nowMs)
  const conduct = state.conducts?.get(key) ?? newConduct()
  const granted = state.grants && grantedIn(state.grants, state.minute, state.day)
  return decision(state, conduct, 'admitted', false, 0, nowMs, granted)
}

/** Gives the points of a request back to its day: to the counters, or to what they have left behind. */
export function giveBack(state: QuotaState, cost: number, day: number): void {
  const left = state.dayUsed - state.dayGivenBack
  const counted = state.day === day ? Math.min(cost, left) : 0
  state.dayGivenBack += counted
  if (state.past && cost > counted) {
    state.past = withPoints(state.past, day, counted - cost, state.day)
  }
}

/** Takes the points of the day out of the counters: the day has ended, or an operator resets it. */
export function leaveDay(state: QuotaState, today: number): void {
  const points = state.dayUsed - state.dayGivenBack
  if (points > 0) state.past = withPoints(state.past, state.day, points, today)
  state.dayUsed = 0
  state.dayGivenBack = 0
}

export function newConduct(): Conduct {
  return { refusedAtMs: 0, strikesMs: [], bannedUntilMs: 0, bans: 0 }
}

/** Begins a new minute and a new day where the old ones have ended. */
export function roll(state: QuotaState, nowMs: number): void {
  const minute = Math.floor(nowMs / minuteMs)
  const day = Math.floor(nowMs / dayMs)
  // A clock that is set back by less than a window doesn't begin the earlier one again.
  if (state.minute !== minute && state.minute !== minute + 1) {
    state.minute = minute
    state.minuteUsed = 0
  }
  if (state.day !== day && state.day !== day + 1) {
    leaveDay(state, day)
    state.day = day
  }
}

/** Takes the larger of the stored counters and those that a gateway has seen: a store may have lost writes. */
function heal(state: QuotaState, conduct: Conduct, seen: Seen): void {
  if (seen.generation < state.generation) return
  if (seen.generation > state.generation) {
    state.generation = seen.generation
    state.minuteUsed = 0
    state.dayUsed = 0
    state.dayGivenBack = 0
    conduct.bannedUntilMs = 0
  }
  if (seen.minute === state.minute) state.minuteUsed = Math.max(state.minuteUsed, seen.minuteUsed)
  if (seen.day === state.day) {
    state.dayUsed = Math.max(state.dayUsed, seen.dayUsed)
    state.dayGivenBack = Math.max(state.dayGivenBack, seen.dayGivenBack)
  }
  conduct.bannedUntilMs = Math.max(conduct.bannedUntilMs, seen.bannedUntilMs)
}

/** Adds the points that a gateway admitted without the store: to windows that still run, else to what is past. */
function settle(state: QuotaState, owed: Owed): void {
  const { minute, minuteUsed, day, dayUsed, dayGivenBack, generation, by, number } = owed
  const settled = (state.settled ??= new Map())
  if (number <= (settled.get(by) ?? 0)) return
  settled.set(by, number)
  const counts = generation >= state.generation
  if (counts && minute === state.minute) state.minuteUsed += minuteUsed
  if (counts && day === state.day) {
    state.dayUsed += dayUsed
    giveBack(state, dayGivenBack, day)
  } else state.past = withPoints(state.past, day, dayUsed - dayGivenBack, state.day)
}

function fits(state: QuotaState, cost: number, { perMinute, perDay }: Limits): boolean {
  if (cost === 0) return true
  const dayUsed = state.dayUsed - state.dayGivenBack
  return state.minuteUsed + cost <= perMinute && dayUsed + cost <= perDay
}

/** Notes a refusal; `true` if it bans the key. */
function refuse(conduct: Conduct, rules: BanRules, nowMs: number): boolean {
  if (conduct.refusedAtMs === 0) conduct.refusedAtMs = nowMs
  if (nowMs - conduct.refusedAtMs <= rules.graceMs) return false
  conduct.strikesMs = [...conduct.strikesMs, nowMs].slice(-rules.strikes)
  const [first = nowMs] = conduct.strikesMs
  if (conduct.strikesMs.length < rules.strikes || nowMs - first >= rules.withinMs) return false
  const follows = conduct.bannedUntilMs > 0 && nowMs - conduct.bannedUntilMs <= rules.memoryMs
  conduct.bans = follows ? conduct.bans + 1 : 0
  const lasts = Math.min(rules.forMs * rules.factor ** conduct.bans, rules.atMostMs)
  conduct.bannedUntilMs = earnedEnd(nowMs + Math.floor(lasts))
  conduct.strikesMs = []
  conduct.refusedAtMs = 0
  return true
}

function isBlank({ refusedAtMs, strikesMs, bannedUntilMs }: Conduct): boolean {
  return refusedAtMs === 0 && strikesMs.length === 0 && bannedUntilMs === 0
}

function decision(
  state: QuotaState,
  conduct: Conduct,
  verdict: Decision['verdict'],
  bans: boolean,
  cost: number,
  nowMs: number,
  granted: Granted | undefined,
): Decision {
  const { minute, minuteUsed, day, dayUsed, dayGivenBack, generation } = state
  const bannedUntilMs = conduct.bannedUntilMs > nowMs ? conduct.bannedUntilMs : 0
  return {
    verdict,
    nowMs,
    cost,
    minuteUsed,
    dayUsed: dayUsed - dayGivenBack,
    strikes: conduct.strikesMs.length,
    bannedUntilMs,
    bans,
    seen: { minute, minuteUsed, day, dayUsed, dayGivenBack, generation, bannedUntilMs },
    granted,
    decidedBy: 'store',
  }
}
