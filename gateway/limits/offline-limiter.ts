import { randomUUID } from 'node:crypto'
import { BoundedMap } from '../../shared/bounded-map.ts'
import { grantedIn, raised, type Granted } from './grants.ts'
import type { Limits } from './limits.ts'
import {
  dayMs,
  minuteMs,
  newQuota,
  step,
  type Ask,
  type Decision,
  type Owed,
  type Seen,
} from './step.ts'

/** A gateway's conduct during an outage: it decides for its own share, admits everything, or admits nothing. */
export type WhenUnreachable = 'local' | 'allow' | 'deny'

export type OfflineOptions = Readonly<{
  whenUnreachable: WhenUnreachable
  /** The least number of quotas that are remembered. */
  capacity: number
}>

/** The state that a decision without the store starts from. */
export type LastKnown = Readonly<{
  /** The counters of the quota in the store's last answer. */
  seen: Seen | undefined
  /** The points that operators had added to the limits of its windows. */
  granted: Granted | undefined
  nowMs: number
  /** The number of gateways that share the quota. */
  gateways: number
}>

/** Decides while the store can't be asked, and keeps what it admits until the store has counted it. */
export class OfflineLimiter {
  readonly #mode: WhenUnreachable
  readonly #usageByQuota: BoundedMap<UnsettledUsage>
  readonly #reporter: Reporter = { id: randomUUID(), reports: 0 }

  constructor({ whenUnreachable, capacity }: OfflineOptions) {
    this.#mode = whenUnreachable
    this.#usageByQuota = new BoundedMap(capacity)
  }

  /** The usage of a quota that the store hasn't counted yet; `undefined` if there is none. */
  usageOf(quota: string): UnsettledUsage | undefined {
    return this.#usageByQuota.get(quota)
  }

  /** Decides by the last known counters and the usage since. */
  decide(quota: string, { key, cost, limits, bans }: Ask, last: LastKnown): Decision {
    let usage = this.#usageByQuota.get(quota)
    if (!usage) {
      usage = new UnsettledUsage(last.seen, this.#reporter)
      this.#usageByQuota.set(quota, usage)
    }
    const denied = this.#mode === 'deny'
    const granted = grantedNow(last)
    const whole = granted ? raised(limits, granted) : limits
    const share = this.#mode === 'local' ? shareOf(whole, usage.base, last) : whole
    const ask = { key, cost: denied ? 0 : cost, limits: share, bans, seen: usage.base }
    const counted = step(usage.state, ask, last.nowMs)
    // The headers tell what this gateway would admit, so the shares of the others count as used.
    const decision: Decision = {
      ...counted,
      granted,
      decidedBy: 'alone',
      minuteUsed: counted.minuteUsed + gap(whole.perMinute, share.perMinute),
      dayUsed: counted.dayUsed + gap(whole.perDay, share.perDay),
    }
    if (denied) return { ...decision, verdict: 'unavailable' }
    if (counted.verdict === 'admitted' && cost > 0) usage.add(counted.seen, cost)
    return this.#mode === 'allow' ? { ...decision, verdict: 'admitted', bans: false } : decision
  }

  /** Forgets the usage of a quota if the store has counted all of it. Called after each answer. */
  forgetIfSettled(quota: string, usage: UnsettledUsage): void {
    if (usage.isSettled) this.#usageByQuota.delete(quota)
  }
}

/** The id by which a store knows this gateway's reports, and the number of reports so far. */
type Reporter = { readonly id: string; reports: number }

type Admitted = Omit<Owed, 'by' | 'number'>

/** The usage of one quota that was admitted without the store, and the reports of it to the store. */
export class UnsettledUsage {
  readonly state = newQuota()
  /** The counters that the store gave last, before the outage. */
  readonly base: Seen | undefined
  readonly #reporter: Reporter
  /** Admitted, and in no report yet. */
  #unreported: Admitted | undefined
  /** The report that the store hasn't acknowledged. */
  #report: Owed | undefined
  #isReporting = false

  constructor(base: Seen | undefined, reporter: Reporter) {
    // A copy: `Quotas` writes later answers into the same object.
    this.base = base && { ...base }
    this.#reporter = reporter
  }

  get isSettled(): boolean {
    return !this.#report && !this.#unreported
  }

  add({ minute, day, generation }: Seen, cost: number): void {
    const more = { minute, minuteUsed: cost, day, dayUsed: cost, generation }
    this.#unreported = sumOf(more, this.#unreported)
  }

  /**
   * The report for the next question to the store. One question at a time carries a report, and the
   * same report is repeated until the store has acknowledged it.
   */
  nextReport(): Owed | undefined {
    if (this.#isReporting) return undefined
    if (!this.#report && this.#unreported) {
      const { id } = this.#reporter
      this.#report = { ...this.#unreported, by: id, number: ++this.#reporter.reports }
      this.#unreported = undefined
    }
    this.#isReporting = this.#report !== undefined
    return this.#report
  }

  /** Ends a question that carried a report; without an answer, the store may have counted it or not. */
  endReport(isAcknowledged: boolean): void {
    this.#isReporting = false
    if (isAcknowledged) this.#report = undefined
  }
}

/** The grants of the last known windows that still run. */
function grantedNow({ seen, granted, nowMs }: LastKnown): Granted | undefined {
  if (!seen || !granted) return undefined
  const grants = { ...granted, minute: seen.minute, day: seen.day }
  return grantedIn(grants, Math.floor(nowMs / minuteMs), Math.floor(nowMs / dayMs))
}

/** The limits of one gateway during an outage: its part of what all gateways together had left. */
function shareOf(limits: Limits, base: Seen | undefined, { nowMs, gateways }: LastKnown): Limits {
  if (gateways === 1) return limits
  const part = (limit: number, used: number): number =>
    limit === Infinity || used >= limit ? limit : used + Math.ceil((limit - used) / gateways)
  const isThisMinute = base?.minute === Math.floor(nowMs / minuteMs)
  const isThisDay = base?.day === Math.floor(nowMs / dayMs)
  return {
    perMinute: part(limits.perMinute, isThisMinute ? base.minuteUsed : 0),
    perDay: part(limits.perDay, isThisDay ? base.dayUsed - base.dayGivenBack : 0),
  }
}

/** The sum of both, for the later minute and the later day: usage of earlier windows is dropped. */
function sumOf(one: Admitted, other: Admitted | undefined): Admitted {
  if (!other) return one
  const minute = Math.max(one.minute, other.minute)
  const day = Math.max(one.day, other.day)
  const both = [one, other]
  return {
    minute,
    minuteUsed: both.reduce((sum, each) => sum + (each.minute === minute ? each.minuteUsed : 0), 0),
    day,
    dayUsed: both.reduce((sum, each) => sum + (each.day === day ? each.dayUsed : 0), 0),
    generation: Math.max(one.generation, other.generation),
  }
}

function gap(limit: number, share: number): number {
  return limit === Infinity ? 0 : limit - share
}
