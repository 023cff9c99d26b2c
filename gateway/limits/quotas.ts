import type { Clock } from '../../shared/clock.ts'
import { BoundedMap } from '../../shared/bounded-map.ts'
import type { Meters } from '../records/meters.ts'
import type { QuotaStore } from './store.ts'
import { Alone, type WhenUnreachable } from './alone.ts'
import { CachedRefusals, type Asker, type DecisiveTerms, type Now } from './cached-refusals.ts'
import { noLimits } from './limits.ts'
import type { CacheSlot, Counters, Decision, Seen } from './step.ts'

/** How many quotas, and how many refusals, a gateway remembers for sure beside a store that is elsewhere. */
const remembered = 100_000

/** A question that costs nothing is answered by the ban alone, whatever the terms. */
const anyTerms: DecisiveTerms = { limits: noLimits, bans: undefined }

/** What was last seen of a quota. A ban is a key's, and the quota may be an account's: it is remembered by the key. */
type Remembered = Counters & { bannedUntilMs: 0 }

export type QuotasOptions = Readonly<{
  store: QuotaStore
  whenUnreachable: WhenUnreachable
  clock: Clock
  /** Told when the store begins to fail, and with `undefined` when it is back. */
  trouble?: (error: Error | undefined) => void
  /** Where it is noted how long the store takes, and how often it can't be asked. */
  meters?: Pick<Meters, 'store' | 'storeErrors'>
  /** Told of a ban that the store tells of. */
  banned?: (key: string) => void
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
  readonly #trouble: QuotasOptions['trouble']
  readonly #ticks: Clock
  readonly #meters: QuotasOptions['meters']
  readonly #endWatch: () => void
  readonly #seen = new BoundedMap<Remembered>(remembered)
  readonly #alone: Alone
  readonly #cachedRefusals = new CachedRefusals(remembered)
  /** What to add to the ticks for the store's time. */
  #offsetMs: number
  /** How long the question took by which that was found, at any time within which the store had its time. */
  #lagMs = 0
  /** What fails just now: the store itself says of what it does, or a decision that it could not make. */
  readonly #failing = new Set<'store' | 'decision'>()

  constructor({ store, whenUnreachable, clock, trouble, meters, ticks, banned }: QuotasOptions) {
    this.#store = store
    this.#meters = meters
    this.#alone = new Alone({ whenUnreachable, remembered })
    this.#trouble = trouble
    this.#ticks = ticks ?? (store.isLocal ? clock : () => performance.now())
    this.#offsetMs = clock() - this.#ticks()
    this.#endWatch = store.watch({
      banned: ({ key, untilMs }) => {
        this.#cachedRefusals.banned(key, untilMs)
        banned?.(key)
      },
      forgiven: () => this.#cachedRefusals.forget(),
      trouble: (cause) => this.#tell('store', cause),
      took: (milliseconds) => this.#meters?.store.add(milliseconds),
    })
  }

  /** Whether the store works, as far as is known. */
  get isReachable(): boolean {
    return this.#failing.size === 0
  }

  /** How many gateways count in the store, as far as is known. */
  get gateways(): number {
    return this.#store.gateways
  }

  /** Decides and counts. It never throws: what the store can't decide is decided here. */
  decide(
    asker: Asker,
    terms: DecisiveTerms,
    cost: number,
    slot?: CacheSlot,
  ): Decision | Promise<Decision> {
    if (this.#store.isLocal) return this.#decideHere(asker, terms, cost, slot)
    return (
      this.#cachedRefusals.forBan(asker, cost, this.#now) ??
      // While the store can't be asked, decisions are made here, by what this gateway remembers.
      (this.isReachable
        ? this.#cachedRefusals.forFullMinute(asker, terms, cost, this.#now)
        : undefined) ??
      this.#decideElsewhere(asker, terms, cost)
    )
  }

  /** Where a caller stands; asks the store even while a known ban runs, and counts nothing. */
  stand(asker: Asker, terms: DecisiveTerms): Decision | Promise<Decision> {
    return this.#store.isLocal
      ? this.#decideHere(asker, terms, 0)
      : this.#decideElsewhere(asker, terms, 0)
  }

  /** Whether a ban of a key runs, as far as this gateway knows; asks nobody. */
  isBanned(asker: Asker): boolean {
    if (!this.#store.isLocal) return this.#cachedRefusals.forBan(asker, 0, this.#now) !== undefined
    const decision = this.#decideHere(asker, anyTerms, 0)
    return !(decision instanceof Promise) && decision.verdict === 'banned'
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

  #decideHere(
    asker: Asker,
    terms: DecisiveTerms,
    cost: number,
    slot?: CacheSlot,
  ): Decision | Promise<Decision> {
    const { id, quota } = asker
    const { limits, bans } = terms
    try {
      const decision = this.#store.decide(quota, { key: id, cost, limits, bans, slot })
      this.#tell('decision', undefined)
      return decision
    } catch (error) {
      this.#tell('decision', asError(error))
      return this.#decideAlone(asker, terms, cost)
    }
  }

  async #decideElsewhere(asker: Asker, terms: DecisiveTerms, cost: number): Promise<Decision> {
    const { id, quota } = asker
    const { limits, bans } = terms
    const seen = this.#seen.get(quota)
    const account = this.#alone.accountOf(quota)
    const owed = account?.tell()
    const askedAtTicks = this.#ticks()
    try {
      const ask = { key: id, cost, limits, bans, seen, owed }
      const decision = await this.#store.decide(quota, ask)
      const ticks = this.#ticks()
      this.#lagMs = ticks - askedAtTicks
      this.#offsetMs = decision.nowMs - ticks
      this.#meters?.store.add(this.#lagMs)
      this.#remember(quota, seen ?? this.#seen.get(quota), decision.seen)
      if (owed) account?.told(true)
      if (account) this.#alone.close(quota, account)
      this.#cachedRefusals.note(asker, terms, decision)
      return decision
    } catch {
      if (owed) account?.told(false)
      return this.#decideAlone(asker, terms, cost)
    }
  }

  #decideAlone({ id, quota }: Asker, { limits, bans }: DecisiveTerms, cost: number): Decision {
    if (this.#meters) this.#meters.storeErrors++
    const known = {
      seen: this.#seen.get(quota),
      nowMs: this.#now().nowMs,
      gateways: this.gateways,
    }
    const decision = this.#alone.decide(quota, { key: id, cost, limits, bans }, known)
    if (decision.verdict === 'banned') this.#cachedRefusals.banned(id, decision.bannedUntilMs)
    return decision
  }

  readonly #now = (): Now => {
    return { nowMs: Math.floor(this.#ticks() + this.#offsetMs), lagMs: this.#lagMs }
  }

  /**
   * Answers may overtake each other: what was seen never becomes less within a generation. It is noted in
   * place, because what is new for each request and outlives it is left for the full collections.
   */
  #remember(quota: string, known: Remembered | undefined, seen: Seen): void {
    if (!known) this.#seen.set(quota, { ...seen, bannedUntilMs: 0 })
    else if (isNewer(seen, known)) {
      known.minute = seen.minute
      known.minuteUsed = seen.minuteUsed
      known.day = seen.day
      known.dayUsed = seen.dayUsed
      known.dayGivenBack = seen.dayGivenBack
      known.generation = seen.generation
    }
  }

  #tell(what: 'store' | 'decision', error: Error | undefined): void {
    const wasReachable = this.isReachable
    if (error) this.#failing.add(what)
    else this.#failing.delete(what)
    if (this.isReachable !== wasReachable) this.#trouble?.(error)
  }
}

function isNewer(seen: Seen, known: Seen): boolean {
  if (seen.generation !== known.generation) return seen.generation > known.generation
  return isLater(seen, known)
}

/** Windows only go forward, and what is used of them only grows. */
function isLater(seen: Seen, known: Seen): boolean {
  if (seen.minute !== known.minute) return seen.minute > known.minute
  return seen.day > known.day || (seen.day === known.day && seen.dayUsed >= known.dayUsed)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
