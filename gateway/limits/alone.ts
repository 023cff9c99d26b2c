import { randomUUID } from 'node:crypto'
import { BoundedMap } from '../../shared/bounded-map.ts'
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

/** Who decides while the store is out of reach: each gateway for its share, or nobody, either way. */
export type WhenUnreachable = 'local' | 'allow' | 'deny'

export type AloneOptions = Readonly<{
  whenUnreachable: WhenUnreachable
  /** How many quotas are remembered for sure. */
  remembered: number
}>

/** What is known where the store can't be asked. */
export type Known = Readonly<{
  /** What was last seen of the quota. */
  seen: Seen | undefined
  nowMs: number
  /** How many gateways share it. */
  gateways: number
}>

/** Decides by what one gateway knows, and remembers what the store has to be told when it is back. */
export class Alone {
  readonly #mode: WhenUnreachable
  readonly #accounts: BoundedMap<Account>
  readonly #teller: Teller = { name: randomUUID(), times: 0 }

  constructor({ whenUnreachable, remembered }: AloneOptions) {
    this.#mode = whenUnreachable
    this.#accounts = new BoundedMap(remembered)
  }

  /** What was counted of a quota without the store, if anything was. */
  accountOf(quota: string): Account | undefined {
    return this.#accounts.get(quota)
  }

  /** Goes on from what was last seen. */
  decide(quota: string, { key, cost, limits, bans }: Ask, known: Known): Decision {
    let account = this.#accounts.get(quota)
    if (!account) {
      account = new Account(known.seen, this.#teller)
      this.#accounts.set(quota, account)
    }
    const denied = this.#mode === 'deny'
    const share = this.#mode === 'local' ? shareOf(limits, account.base, known) : limits
    const ask = { key, cost: denied ? 0 : cost, limits: share, bans, seen: account.base }
    const counted = step(account.state, ask, known.nowMs)
    // The others' shares are as good as used: what the headers tell is what this gateway would admit.
    const decision = {
      ...counted,
      minuteUsed: counted.minuteUsed + gap(limits.perMinute, share.perMinute),
      dayUsed: counted.dayUsed + gap(limits.perDay, share.perDay),
    }
    if (denied) return { ...decision, verdict: 'unavailable' }
    if (counted.verdict === 'admitted' && cost > 0) account.owe(counted.seen, cost)
    return this.#mode === 'allow' ? { ...decision, verdict: 'admitted', bans: false } : decision
  }

  /** The store has answered: an account that owes it nothing is closed. */
  close(quota: string, account: Account): void {
    if (account.isSettled) this.#accounts.delete(quota)
  }
}

/** Which gateway tells, and how many times it has. */
type Teller = { readonly name: string; times: number }

type Admitted = Omit<Owed, 'by' | 'number'>

/** What is counted of a quota without the store, from what was known of it at last. */
export class Account {
  readonly state = newQuota()
  readonly base: Seen | undefined
  readonly #teller: Teller
  /** What was admitted since. */
  #owed: Admitted | undefined
  /** What the store is being told of it. */
  #told: Owed | undefined
  #isTelling = false

  constructor(base: Seen | undefined, teller: Teller) {
    // What is seen later is noted in the same place.
    this.base = base && { ...base }
    this.#teller = teller
  }

  get isSettled(): boolean {
    return !this.#told && !this.#owed
  }

  owe({ minute, day, generation }: Seen, cost: number): void {
    const more = { minute, minuteUsed: cost, day, dayUsed: cost, generation }
    this.#owed = sumOf(more, this.#owed)
  }

  /**
   * What to tell the store of what was admitted without it: by one request at a time, and the same again
   * until it is known to have heard it.
   */
  tell(): Owed | undefined {
    if (this.#isTelling) return undefined
    if (!this.#told && this.#owed) {
      this.#told = { ...this.#owed, by: this.#teller.name, number: ++this.#teller.times }
      this.#owed = undefined
    }
    this.#isTelling = this.#told !== undefined
    return this.#told
  }

  /** What was told has been heard, or may not have been. */
  told(isHeard: boolean): void {
    this.#isTelling = false
    if (isHeard) this.#told = undefined
  }
}

/** How far one gateway may go by itself: its part of what all together had left. */
function shareOf(limits: Limits, base: Seen | undefined, { nowMs, gateways }: Known): Limits {
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

/** What is owed in all, in the later of the windows. */
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
