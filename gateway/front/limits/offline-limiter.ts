import { randomUUID } from 'node:crypto'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import { grantedIn, raised, type Granted } from './grants.ts'
import type { Limits } from './limits.ts'
import {
  dayMs,
  giveBack,
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

  /** Notes points that the store couldn't be asked to give back. */
  giveBack(quota: string, base: Seen | undefined, decision: Decision): void {
    const usage = this.#usageByQuota.get(quota) ?? new UnsettledUsage(base, this.#reporter)
    usage.giveBack(decision)
    this.#usageByQuota.set(quota, usage)
  }

  /** The quotas with usage that the store hasn't counted yet. */
  unsettled(): [quota: string, usage: UnsettledUsage][] {
    return [...this.#usageByQuota.entries()]
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
  /** Admitted or given back, and in no report yet: one entry for each day, the oldest first. */
  readonly #unreported: Admitted[] = []
  /** The report that the store hasn't acknowledged. */
  #report: Owed | undefined
  #isReporting = false

  constructor(base: Seen | undefined, reporter: Reporter) {
    // A copy: `Quotas` writes later answers into the same object.
    this.base = base && { ...base }
    this.#reporter = reporter
  }

  get isSettled(): boolean {
    return !this.#report && this.#unreported.length === 0
  }

  add({ minute, day, generation }: Seen, cost: number): void {
    this.#note({ minute, minuteUsed: cost, day, dayUsed: cost, dayGivenBack: 0, generation })
  }

  giveBack({ seen: { minute, day, generation }, cost }: Decision): void {
    giveBack(this.state, cost, day)
    this.#note({ minute, minuteUsed: 0, day, dayUsed: 0, dayGivenBack: cost, generation })
  }

  #note(more: Admitted): void {
    const same = this.#unreported.findIndex(({ day }) => day === more.day)
    const before = this.#unreported[same]
    if (before) this.#unreported[same] = sumOf(more, before)
    else this.#unreported.push(more)
  }

  /**
   * The report for the next question to the store. One question at a time carries a report, and the
   * same report is repeated until the store has acknowledged it.
   */
  nextReport(): Owed | undefined {
    if (this.#isReporting) return undefined
    const oldest = this.#report ? undefined : this.#unreported.shift()
    if (oldest) {
      const { id } = this.#reporter
      this.#report = { ...oldest, by: id, number: ++this.#reporter.reports }
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

/** The sum of both, which are of one day; of the minute, usage before the later one is dropped. */
function sumOf(one: Admitted, other: Admitted): Admitted {
  const minute = Math.max(one.minute, other.minute)
  const ofMinute = (each: Admitted): number => (each.minute === minute ? each.minuteUsed : 0)
  return {
    minute,
    minuteUsed: ofMinute(one) + ofMinute(other),
    day: one.day,
    dayUsed: one.dayUsed + other.dayUsed,
    dayGivenBack: one.dayGivenBack + other.dayGivenBack,
    generation: Math.max(one.generation, other.generation),
  }
}

function gap(limit: number, share: number): number {
  return limit === Infinity ? 0 : limit - share
}
