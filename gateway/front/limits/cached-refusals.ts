import { BoundedMap } from '../../../shared/bounded-map.ts'
import type { Limits } from './limits.ts'
import { minuteMs, type BanRules, type Decision, type Seen } from './step.ts'

/** A key, which is banned by itself, and the quota that its requests use up. */
export type Asker = Readonly<{ id: string; quota: string }>

/** The terms that decide. */
export type DecisiveTerms = Readonly<{ limits: Limits; bans: BanRules | undefined }>

/** A gateway's estimate of the store's time. The real time is at most `lagMs` later, and never earlier. */
export type Now = Readonly<{ nowMs: number; lagMs: number }>

/**
 * Caches the refusals that need no question to a remote store: a ban that runs, and a full minute of
 * a plan without bans, where a refusal isn't a strike. Both hold until they end or an operator ends
 * them.
 */
export class CachedRefusals {
  readonly #size: number
  /** By key. */
  #banEndsMs: BoundedMap<number>
  /** The counters of quotas whose minute is used up. */
  #fullMinutes: BoundedMap<Seen>

  constructor(size: number) {
    this.#size = size
    this.#banEndsMs = new BoundedMap(size)
    this.#fullMinutes = new BoundedMap(size)
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

  /** The refusal for a full minute; `undefined` as soon as the store's clock may be in the next one. */
  forFullMinute(
    { quota }: Asker,
    { limits, bans }: DecisiveTerms,
    cost: number,
    now: () => Now,
  ): Decision | undefined {
    if (bans !== undefined || cost === 0) return undefined
    const full = this.#fullMinutes.get(quota)
    if (!full || full.minuteUsed < limits.perMinute) return undefined
    const { nowMs, lagMs } = now()
    return nowMs + lagMs < (full.minute + 1) * minuteMs ? refusal(full, nowMs, cost) : undefined
  }

  /** Caches a decision of the store, or of the offline limiter in its stead. */
  note(
    { id, quota }: Asker,
    { limits, bans }: DecisiveTerms,
    { verdict, bannedUntilMs, seen, granted }: Decision,
  ): void {
    if (verdict === 'banned') this.#banEndsMs.set(id, bannedUntilMs)
    // A refusal by limits with a grant isn't cached: the limits at hand would be others.
    else if (verdict === 'refused' && !bans && !granted && seen.minuteUsed >= limits.perMinute)
      this.#fullMinutes.set(quota, seen)
  }

  banned(id: string, untilMs: number): void {
    this.#banEndsMs.set(id, untilMs)
  }

  /** Empties the cache: after a lift or a reset any entry may be untrue. */
  forget(): void {
    this.#banEndsMs = new BoundedMap(this.#size)
    this.#fullMinutes = new BoundedMap(this.#size)
  }
}

/** Stands for a quota's counters while a ban runs: the ban alone decides then. */
const noCounters: Seen = {
  minute: 0,
  minuteUsed: 0,
  day: 0,
  dayUsed: 0,
  dayGivenBack: 0,
  generation: 0,
  bannedUntilMs: 0,
}

function refusal(seen: Seen, nowMs: number, cost: number, bannedUntilMs = 0): Decision {
  return {
    verdict: bannedUntilMs > 0 ? 'banned' : 'refused',
    nowMs,
    cost,
    minuteUsed: seen.minuteUsed,
    dayUsed: seen.dayUsed - seen.dayGivenBack,
    strikes: 0,
    bannedUntilMs,
    bans: false,
    seen,
    decidedBy: 'memory',
  }
}
