import type { Clock } from '../../shared/clock.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { QuotaStore } from '../stores/quota.ts'
import type { Limits } from './limits.ts'
import { newQuota, step, type BanRules, type Decision, type QuotaState, type Seen } from './step.ts'

/** How many quotas and bans a gateway remembers beside a store that is elsewhere. */
const mostRemembered = 100_000

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
  readonly #endWatch: () => void
  readonly #seen = new BoundedMap<Seen>(mostRemembered)
  readonly #alone = new BoundedMap<QuotaState>(mostRemembered)
  #bannedUntilMs = new BoundedMap<number>(mostRemembered)
  /** What to add to the ticks for the store's time. */
  #offsetMs: number
  #failing = false

  constructor({ store, whenUnreachable, clock, trouble, ticks }: QuotasOptions) {
    this.#store = store
    this.#mode = whenUnreachable
    this.#trouble = trouble
    this.#ticks = ticks ?? (store.isLocal ? clock : () => performance.now())
    this.#offsetMs = clock() - this.#ticks()
    this.#endWatch = store.watch({
      banned: ({ key, untilMs }) => this.#bannedUntilMs.set(key, untilMs),
      forgiven: () => {
        this.#bannedUntilMs = new BoundedMap(mostRemembered)
      },
    })
  }

  /** Whether the last decision was the store's. */
  get isReachable(): boolean {
    return !this.#failing
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
      this.#tell(undefined)
      return decision
    } catch (error) {
      this.#tell(asError(error))
      return this.#decideAlone(asker, cost)
    }
  }

  async #decideElsewhere(asker: Asker, cost: number): Promise<Decision> {
    const { id, quota, limits, bans } = asker
    const seen = this.#seen.get(quota)
    try {
      const ask = { key: id, cost, limits, bans, ...(seen ? { seen } : {}) }
      const decision = await this.#store.decide(quota, ask)
      this.#offsetMs = decision.nowMs - this.#ticks()
      this.#remember(quota, decision)
      this.#alone.delete(quota)
      this.#tell(undefined)
      return this.#keepBan(id, decision)
    } catch (error) {
      if (!isOfOneQuota(error)) this.#tell(asError(error))
      return this.#decideAlone(asker, cost)
    }
  }

  /** Goes on from what was last seen; what is counted here the store hears of when it is back. */
  #decideAlone({ id, quota, limits, bans }: Asker, cost: number): Decision {
    let state = this.#alone.get(quota)
    if (!state) this.#alone.set(quota, (state = newQuota()))
    const seen = this.#seen.get(quota)
    const nowMs = Math.floor(this.#ticks() + this.#offsetMs)
    const denied = this.#mode === 'deny'
    const ask = { key: id, cost: denied ? 0 : cost, limits, bans, seen }
    const decision = step(state, ask, nowMs)
    if (denied) return { ...decision, verdict: 'unavailable' }
    this.#remember(quota, decision)
    if (this.#mode === 'allow') return { ...decision, verdict: 'admitted', bans: false }
    return this.#keepBan(id, decision)
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

  #tell(error: Error | undefined): void {
    const failing = error !== undefined
    if (failing === this.#failing) return
    this.#failing = failing
    this.#trouble?.(error)
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

/** Windows only go forward, and what is used of them only grows. */
function isLater(seen: Seen, known: Seen): boolean {
  if (seen.minute !== known.minute) return seen.minute > known.minute
  return seen.day > known.day || (seen.day === known.day && seen.dayUsed >= known.dayUsed)
}

/** Whether an error tells of one damaged quota, rather than of a store that is out of reach. */
function isOfOneQuota(error: unknown): boolean {
  return error instanceof Error && /^(?:ERR|WRONGTYPE)\b/.test(error.message)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
