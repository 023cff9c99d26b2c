import { BoundedMap } from '../../shared/bounded-map.ts'
import { minuteMs, type Decision, type Seen } from './step.ts'
import type { Terms } from './terms.ts'

/** Whose quota is asked: a key, which is banned by itself, and the quota that its requests use up. */
export type Asker = Readonly<{ id: string; quota: string }>

/** The terms that decide. */
export type DecisiveTerms = Pick<Terms, 'limits' | 'bans'>

/** The store's time as a gateway reckons it: it may be later by up to `lagMs`, and is never sooner. */
export type Now = Readonly<{ nowMs: number; lagMs: number }>

/**
 * Caches refusals for which a store elsewhere need not be asked: a ban that runs, and a minute that is used up,
 * where a refusal isn't a strike. Both hold until they end, or an operator ends them.
 */
export class CachedRefusals {
  readonly #size: number
  /** When the bans of keys end. */
  #bans: BoundedMap<number>
  /** What was seen of quotas when their minute was used up. */
  #full: BoundedMap<Seen>

  constructor(size: number) {
    this.#size = size
    this.#bans = new BoundedMap(size)
    this.#full = new BoundedMap(size)
  }

  /** The refusal of a key whose ban runs. */
  forBan({ id }: Asker, cost: number, now: () => Now): Decision | undefined {
    const bannedUntilMs = this.#bans.get(id)
    if (bannedUntilMs === undefined) return undefined
    const { nowMs } = now()
    if (bannedUntilMs > nowMs) return refusal(nobodys, nowMs, cost, bannedUntilMs)
    this.#bans.delete(id)
    return undefined
  }

  /** The refusal of a request whose minute is used up, until the last moment at which that is sure. */
  forFullMinute(
    { quota }: Asker,
    { limits, bans }: DecisiveTerms,
    cost: number,
    now: () => Now,
  ): Decision | undefined {
    if (bans !== undefined || cost === 0) return undefined
    const full = this.#full.get(quota)
    if (!full || full.minuteUsed < limits.perMinute) return undefined
    const { nowMs, lagMs } = now()
    return nowMs + lagMs < (full.minute + 1) * minuteMs ? refusal(full, nowMs, cost) : undefined
  }

  /** Takes note of what the store has decided, or this gateway in its place. */
  note(
    { id, quota }: Asker,
    { limits, bans }: DecisiveTerms,
    { verdict, bannedUntilMs, seen }: Decision,
  ): void {
    if (verdict === 'banned') this.#bans.set(id, bannedUntilMs)
    else if (verdict === 'refused' && !bans && seen.minuteUsed >= limits.perMinute)
      this.#full.set(quota, seen)
  }

  banned(id: string, untilMs: number): void {
    this.#bans.set(id, untilMs)
  }

  /** Something was lifted or reset: nothing that is known here may be true any more. */
  forget(): void {
    this.#bans = new BoundedMap(this.#size)
    this.#full = new BoundedMap(this.#size)
  }
}

/** While a ban runs, nothing else about the quota matters. */
const nobodys: Seen = {
  ...{ minute: 0, minuteUsed: 0, day: 0, dayUsed: 0, dayGivenBack: 0, generation: 0 },
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
  }
}
