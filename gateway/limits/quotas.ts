import { randomUUID } from 'node:crypto'
import type { Clock } from '../../shared/clock.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { Meters } from '../records/meters.ts'
import type { QuotaStore } from '../stores/quota.ts'
import type { Limits } from './limits.ts'
import {
  dayMs,
  minuteMs,
  newQuota,
  step,
  type BanRules,
  type Decision,
  type Owed,
  type QuotaState,
  type Seen,
} from './step.ts'

/** How many quotas and bans a gateway remembers beside a store that is elsewhere. */
const mostRemembered = 100_000

/** What is counted while the store is out of reach, from what was known of it at last. */
type Alone = {
  readonly state: QuotaState
  readonly base: Seen | undefined
  /** What was admitted since. */
  owed: Admitted | undefined
  /** What the store is being told of it. */
  told: Owed | undefined
  isTelling: boolean
}

type Admitted = Omit<Owed, 'by' | 'number'>

/** Whose quota is asked, and by which limits and rules. */
export type Asker = Readonly<{
  id: string
  quota: string
  limits: Limits
  bans: BanRules | undefined
}>

export type QuotasOptions = Readonly<{
  store: QuotaStore
  whenUnreachable: 'local' | 'allow' | 'deny'
  clock: Clock
  /** Told when the store begins to fail, and with `undefined` when it is back. */
  trouble?: (error: Error | undefined) => void
  /** Where it is noted how long the store takes, and how often it can't be asked. */
  meters?: Pick<Meters, 'store' | 'storeErrors'>
  /** A clock that never steps, in milliseconds; tests hand in the one that they move. */
  ticks?: Clock
}>

/**
 * Decisions for one gateway: the store's, with what this gateway remembers around them. It answers
 * for bans that run by itself, tells the store what it has seen in case it has lost it, and decides
 * by that alone while the store is out of reach.
 */
export class Quotas {
  readonly #store: QuotaStore
  readonly #mode: QuotasOptions['whenUnreachable']
  readonly #trouble: QuotasOptions['trouble']
  readonly #ticks: Clock
  readonly #meters: QuotasOptions['meters']
  readonly #endWatch: () => void
  readonly #seen = new BoundedMap<Seen>(mostRemembered)
  readonly #alone = new BoundedMap<Alone>(mostRemembered)
  #bannedUntilMs = new BoundedMap<number>(mostRemembered)
  /** What to add to the ticks for the store's time. */
  #offsetMs: number
  /** What fails just now: the store itself says of what it does, or a decision that it could not make. */
  readonly #failing = new Set<'store' | 'decision'>()
  readonly #name = randomUUID()
  #settled = 0

  constructor({ store, whenUnreachable, clock, trouble, meters, ticks }: QuotasOptions) {
    this.#store = store
    this.#meters = meters
    this.#mode = whenUnreachable
    this.#trouble = trouble
    this.#ticks = ticks ?? (store.isLocal ? clock : () => performance.now())
    this.#offsetMs = clock() - this.#ticks()
    this.#endWatch = store.watch({
      banned: ({ key, untilMs }) => this.#bannedUntilMs.set(key, untilMs),
      forgiven: () => {
        this.#bannedUntilMs = new BoundedMap(mostRemembered)
      },
      trouble: (cause) => this.#tell('store', cause),
      took: (milliseconds) => this.#meters?.store.add(milliseconds),
    })
  }

  /** Whether the store works, as far as is known. */
  get isReachable(): boolean {
    return this.#failing.size === 0
  }

  /** Decides and counts. It never throws: what the store can't decide is decided here. */
  decide(asker: Asker, cost: number): Decision | Promise<Decision> {
    const { id } = asker
    if (this.#store.isLocal) return this.#decideHere(asker, cost)
    const bannedUntilMs = this.#bannedUntilMs.get(id)
    if (bannedUntilMs !== undefined) {
      const nowMs = Math.floor(this.#ticks() + this.#offsetMs)
      if (bannedUntilMs > nowMs) return bannedDecision(nowMs, bannedUntilMs, cost)
      this.#bannedUntilMs.delete(id)
    }
    return this.#decideElsewhere(asker, cost)
  }

  /** Where a caller stands, from the store even while a ban that is known runs; counts nothing. */
  stand(asker: Asker): Decision | Promise<Decision> {
    return this.#store.isLocal ? this.#decideHere(asker, 0) : this.#decideElsewhere(asker, 0)
  }

  /** Gives the day's part of what a request has cost back, because it could not be answered. */
  async giveBack(quota: string, { cost, seen }: Decision): Promise<void> {
    if (cost === 0) return
    try {
      await this.#store.giveBack(quota, cost, seen.day)
    } catch {
      // The store is out of reach and says so itself; a point of a day is not worth more.
    }
  }

  close(): void {
    this.#endWatch()
  }

  #decideHere(asker: Asker, cost: number): Decision | Promise<Decision> {
    const { id, quota, limits, bans } = asker
    try {
      const decision = this.#store.decide(quota, { key: id, cost, limits, bans })
      this.#tell('decision', undefined)
      return decision
    } catch (error) {
      this.#tell('decision', asError(error))
      return this.#decideAlone(asker, cost)
    }
  }

  async #decideElsewhere(asker: Asker, cost: number): Promise<Decision> {
    const { id, quota, limits, bans } = asker
    const seen = this.#seen.get(quota)
    const alone = this.#alone.get(quota)
    const owed = alone && this.#settling(alone)
    const askedAtTicks = this.#ticks()
    try {
      const ask = { key: id, cost, limits, bans, seen, owed }
      const decision = await this.#store.decide(quota, ask)
      const ticks = this.#ticks()
      this.#offsetMs = decision.nowMs - ticks
      this.#meters?.store.add(ticks - askedAtTicks)
      this.#remember(quota, decision)
      if (alone && owed) alone.told = undefined
      if (alone && !alone.told && !alone.owed) this.#alone.delete(quota)
      return this.#keepBan(id, decision)
    } catch {
      return this.#decideAlone(asker, cost)
    } finally {
      if (alone && owed) alone.isTelling = false
    }
  }

  /**
   * What to tell the store of what was admitted without it: by one request at a time, and the same again
   * until it is known to have heard it.
   */
  #settling(alone: Alone): Owed | undefined {
    if (alone.isTelling) return undefined
    if (!alone.told && alone.owed) {
      alone.told = { ...alone.owed, by: this.#name, number: ++this.#settled }
      alone.owed = undefined
    }
    alone.isTelling = alone.told !== undefined
    return alone.told
  }

  /** Goes on from what was last seen; what is counted here the store hears of when it is back. */
  #decideAlone({ id, quota, limits, bans }: Asker, cost: number): Decision {
    if (this.#meters) this.#meters.storeErrors++
    let alone = this.#alone.get(quota)
    if (!alone) {
      const base = this.#seen.get(quota)
      alone = { state: newQuota(), base, owed: undefined, told: undefined, isTelling: false }
      this.#alone.set(quota, alone)
    }
    const nowMs = Math.floor(this.#ticks() + this.#offsetMs)
    const denied = this.#mode === 'deny'
    const share = this.#mode === 'local' ? this.#shareOf(limits, alone.base, nowMs) : limits
    const ask = { key: id, cost: denied ? 0 : cost, limits: share, bans, seen: alone.base }
    const counted = step(alone.state, ask, nowMs)
    // The others' shares are as good as used: what the headers tell is what this gateway would admit.
    const decision = {
      ...counted,
      minuteUsed: counted.minuteUsed + gap(limits.perMinute, share.perMinute),
      dayUsed: counted.dayUsed + gap(limits.perDay, share.perDay),
    }
    if (denied) return { ...decision, verdict: 'unavailable' }
    if (counted.verdict === 'admitted' && cost > 0) {
      const { minute, day, generation } = counted.seen
      const more = { minute, minuteUsed: cost, day, dayUsed: cost, generation }
      alone.owed = sumOf(more, alone.owed)
    }
    if (this.#mode === 'allow') return { ...decision, verdict: 'admitted', bans: false }
    return this.#keepBan(id, decision)
  }

  /** How far this gateway may go by itself: its part of what all together had left. */
  #shareOf(limits: Limits, base: Seen | undefined, nowMs: number): Limits {
    const { gateways } = this.#store
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

  #keepBan(id: string, decision: Decision): Decision {
    if (decision.verdict === 'banned') this.#bannedUntilMs.set(id, decision.bannedUntilMs)
    return decision
  }

  /** Answers may overtake each other: what was seen never becomes less within a generation. */
  #remember(quota: string, { seen }: Decision): void {
    const known = this.#seen.get(quota)
    const isNewer =
      !known ||
      seen.generation > known.generation ||
      (seen.generation === known.generation && isLater(seen, known))
    // A ban is a key's, and the quota may be an account's: it is remembered by the key instead.
    if (isNewer) this.#seen.set(quota, { ...seen, bannedUntilMs: 0 })
  }

  #tell(what: 'store' | 'decision', error: Error | undefined): void {
    const wasReachable = this.isReachable
    if (error) this.#failing.add(what)
    else this.#failing.delete(what)
    if (this.isReachable !== wasReachable) this.#trouble?.(error)
  }
}

/** The answer for a ban that is known: nothing else about the quota matters while it runs. */
function bannedDecision(nowMs: number, bannedUntilMs: number, cost: number): Decision {
  const state = newQuota()
  return {
    verdict: 'banned',
    nowMs,
    cost,
    minuteUsed: 0,
    dayUsed: 0,
    strikes: 0,
    bannedUntilMs,
    bans: false,
    seen: { ...state, bannedUntilMs },
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

/** Windows only go forward, and what is used of them only grows. */
function isLater(seen: Seen, known: Seen): boolean {
  if (seen.minute !== known.minute) return seen.minute > known.minute
  return seen.day > known.day || (seen.day === known.day && seen.dayUsed >= known.dayUsed)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
