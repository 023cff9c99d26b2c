import { BoundedMap } from '../../../shared/bounded-map.ts'
import { endOf, newCounters, type Counters } from './counters.ts'
import type { PartState } from './parts.ts'
import type { BanRules } from './conduct.ts'
import type { Seen } from './quota-state.ts'
import { includedIn, limitsIn, longestFull, neededBy, type Ask, type Decision } from './step.ts'

/** The longest that a full window is cached: an answer that has cost less than its estimate makes room in it. */
const fullForMs = 1_000

/** The most parts of a quota that are cached: an account may have many keys with caps. */
const mostParts = 100

/** A key, which is banned by itself, and the quota that its requests use up. */
export type Asker = Readonly<{ id: string; quota: string }>

/** The terms that decide. */
export type DecisiveTerms = Pick<
  Ask,
  'limits' | 'included' | 'prepaid' | 'least' | 'parts' | 'countsBrief'
> &
  Readonly<{
    bans: BanRules | undefined
    /** Whether a limit of the caller, or of any of its parts, is for requests under way. */
    hasPlaces?: boolean | undefined
  }>

/** A gateway's estimate of the store's time. The real time is at most `lagMs` later, and never earlier. */
export type Now = Readonly<{ nowMs: number; lagMs: number }>

/** The counters of a quota when it was refused, and those of its parts by their names, each with the store's time then. */
type Refused = Readonly<{
  seen: Seen
  used: Decision['used']
  granted: Decision['granted']
  purse: Decision['purse']
  nowMs: number
  parts: Map<string, RefusedPart>
}>
type RefusedPart = Readonly<{ counters: Counters; nowMs: number }>

/**
 * Caches the refusals that need no question to a remote store: a ban that runs, and full windows whose refusals aren't
 * strikes, so that a flood at a used-up day costs the store one question a second. A ban holds until it ends or an operator
 * ends it. A full window holds for a second: other gateways may give points back. A cheaper request that may have room is
 * asked anew.
 */
export class CachedRefusals {
  readonly #size: number
  /** By key. */
  #banEndsMs: BoundedMap<number>
  /** By quota. */
  #refused: BoundedMap<Refused>

  constructor(size: number) {
    this.#size = size
    this.#banEndsMs = new BoundedMap(size)
    this.#refused = new BoundedMap(size)
  }

  /** The refusal of a key whose ban runs; `undefined` if no ban is cached. */
  forBan({ id }: Asker, cost: number, now: () => Now): Decision | undefined {
    const bannedUntilMs = this.#banEndsMs.get(id)
    if (bannedUntilMs === undefined) return undefined
    const { nowMs } = now()
    if (bannedUntilMs > nowMs) return refusal(noCounters, nowMs, cost, bannedUntilMs)
    this.#banEndsMs.delete(id)
    return undefined
  }

  /** The refusal for a full window; `undefined` as soon as the store's clock may be in the next one. */
  forFullWindow(
    { quota }: Asker,
    { limits, included, prepaid, bans, least, parts: asked }: DecisiveTerms,
    cost: number,
    now: () => Now,
  ): Decision | undefined {
    const needed = neededBy({ cost, least })
    const refused = needed > 0 ? this.#refused.get(quota) : undefined
    if (!refused) return undefined
    const { nowMs, lagMs } = now()
    const since = nowMs + lagMs - fullForMs
    if (refused.nowMs <= since) return undefined
    const parts = asked?.flatMap((part): PartState[] => {
      const cached = refused.parts.get(part.name)
      return cached && cached.nowMs > since ? [{ part, counters: cached.counters }] : []
    })
    // A part that isn't known may be what refuses for longest.
    if (asked && parts?.length !== asked.length) return undefined
    const { seen, granted, purse } = refused
    // Keys of one account may have several plans.
    if (purse?.window !== prepaid) return undefined
    const full = longestFull(seen, parts, needed, limitsIn(refused, limits))
    if (!full || (bans && full.window.strikes)) return undefined
    if (nowMs + lagMs >= endOf(full.counters, full.window)) return undefined
    return {
      ...refusal(refused, nowMs, cost),
      least,
      parts,
      granted,
      purse: purse && { ...purse, took: 0 },
      included: includedIn({ included }, granted),
    }
  }

  /** Caches a decision of the store, or of the offline limiter in its stead. */
  note({ id, quota }: Asker, { limits, bans }: DecisiveTerms, decision: Decision): void {
    const { verdict, bannedUntilMs, seen, used, granted, purse, nowMs, parts } = decision
    if (verdict === 'banned') this.#banEndsMs.set(id, bannedUntilMs)
    if (verdict !== 'refused') return
    const full = longestFull(seen, parts, neededBy(decision), limitsIn(decision, limits))
    if (!full || (bans && full.window.strikes)) return
    const before = this.#refused.get(quota)?.parts
    const known = before && before.size < mostParts ? before : new Map<string, RefusedPart>()
    for (const { part, counters } of parts ?? []) known.set(part.name, { counters, nowMs })
    this.#refused.set(quota, { seen, used, granted, purse, nowMs, parts: known })
  }

  /** A request of a quota has cost less than it was counted. */
  hasRoom(quota: string): void {
    this.#refused.delete(quota)
  }

  banned(id: string, untilMs: number): void {
    this.#banEndsMs.set(id, untilMs)
  }

  /** Empties the cache: after a lift or a reset any entry may be untrue. */
  forget(): void {
    this.#banEndsMs = new BoundedMap(this.#size)
    this.#refused = new BoundedMap(this.#size)
  }
}

/** Stands for a quota's counters while a ban runs: the ban alone decides then. */
const noCounters: Pick<Decision, 'seen' | 'used'> = {
  seen: { ...newCounters(), bannedUntilMs: 0 },
  used: [],
}

function refusal(
  { seen, used }: Pick<Decision, 'seen' | 'used'>,
  nowMs: number,
  cost: number,
  bannedUntilMs = 0,
): Decision {
  return {
    verdict: bannedUntilMs > 0 ? 'banned' : 'refused',
    nowMs,
    cost,
    strikes: 0,
    bannedUntilMs,
    bans: false,
    seen,
    used,
    elsewhere: undefined,
    granted: undefined,
    decidedBy: 'memory',
  }
}
