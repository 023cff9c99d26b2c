import { BoundedMap } from '../../../shared/bounded-map.ts'
import { newCounters, numberOf, usedIn } from './counters.ts'
import type { Included } from './beyond.ts'
import { limitOf, type Limits } from './limits.ts'
import type { Part } from './parts.ts'
import type { BanRules } from './conduct.ts'
import type { Seen } from './quota-state.ts'
import { neededBy, type Decision } from './step.ts'
import { endsAtMs, steadyWindows, type Window } from '../../../shared/windows.ts'

/** The longest that a full window is cached: an answer that has cost less than its estimate makes room in it. */
const fullForMs = 1_000

/** The windows whose refusals hold until they end, but for answers that cost less: no other points come back to them. */
const finalWindows = steadyWindows.filter(({ comesBack }) => !comesBack)

/** A key, which is banned by itself, and the quota that its requests use up. */
export type Asker = Readonly<{ id: string; quota: string }>

/** The terms that decide. */
export type DecisiveTerms = Readonly<{
  limits: Limits
  /** Limits beyond which points are metered, up to those that refuse. */
  included?: Included | undefined
  bans: BanRules | undefined
  /** The points that must have room, where they are more than the cost. */
  least?: number | undefined
  /** The operation and the cap that a request is counted in, too. */
  parts?: readonly Part[] | undefined
  /** Whether brief windows are counted; by default, where they are limited. */
  countsBrief?: boolean | undefined
}>

/** A gateway's estimate of the store's time. The real time is at most `lagMs` later, and never earlier. */
export type Now = Readonly<{ nowMs: number; lagMs: number }>

/**
 * Caches the refusals that need no question to a remote store: a ban that runs, and a full minute (or another window to
 * which no points come back) of a plan without bans, where a refusal isn't a strike. A ban holds until it ends or an
 * operator ends it, a full window for a second: answers that tell costs may make room in it, also those of other gateways.
 */
export class CachedRefusals {
  readonly #size: number
  /** By key. */
  #banEndsMs: BoundedMap<number>
  /** The counters of quotas of which a final window is used up, and the store's time then. */
  #full: BoundedMap<Readonly<{ seen: Seen; nowMs: number }>>

  constructor(size: number) {
    this.#size = size
    this.#banEndsMs = new BoundedMap(size)
    this.#full = new BoundedMap(size)
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
    { limits, included, bans, least }: DecisiveTerms,
    cost: number,
    now: () => Now,
  ): Decision | undefined {
    if (bans !== undefined || neededBy({ cost, least }) === 0) return undefined
    const full = this.#full.get(quota)
    const window = full && fullWindow(full.seen, limits)
    if (!window) return undefined
    const { nowMs, lagMs } = now()
    const endMs = Math.min(endsAtMs(window, numberOf(full.seen, window)), full.nowMs + fullForMs)
    return nowMs + lagMs < endMs
      ? { ...refusal(full.seen, nowMs, cost), least, included }
      : undefined
  }

  /** Caches a decision of the store, or of the offline limiter in its stead. */
  note(
    { id, quota }: Asker,
    { limits, bans }: DecisiveTerms,
    { verdict, bannedUntilMs, seen, granted, nowMs }: Decision,
  ): void {
    if (verdict === 'banned') this.#banEndsMs.set(id, bannedUntilMs)
    // A refusal by limits with a grant isn't cached: the limits at hand would be others.
    else if (verdict === 'refused' && !bans && !granted && fullWindow(seen, limits))
      this.#full.set(quota, { seen, nowMs })
  }

  /** A request of a quota has cost less than it was counted. */
  hasRoom(quota: string): void {
    this.#full.delete(quota)
  }

  banned(id: string, untilMs: number): void {
    this.#banEndsMs.set(id, untilMs)
  }

  /** Empties the cache: after a lift or a reset any entry may be untrue. */
  forget(): void {
    this.#banEndsMs = new BoundedMap(this.#size)
    this.#full = new BoundedMap(this.#size)
  }
}

/** Stands for a quota's counters while a ban runs: the ban alone decides then. */
const noCounters: Seen = { ...newCounters(), bannedUntilMs: 0 }

function fullWindow(seen: Seen, limits: Limits): Window | undefined {
  return finalWindows.find((window) => usedIn(seen, window) >= limitOf(limits, window))
}

function refusal(seen: Seen, nowMs: number, cost: number, bannedUntilMs = 0): Decision {
  return {
    verdict: bannedUntilMs > 0 ? 'banned' : 'refused',
    nowMs,
    cost,
    strikes: 0,
    bannedUntilMs,
    bans: false,
    seen,
    elsewhere: undefined,
    granted: undefined,
    decidedBy: 'memory',
  }
}
