import { asError } from '../../../shared/as-error.ts'
import type { Clock, Later } from '../../../shared/clock.ts'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import { StoreUnavailable } from '../../../shared/store-errors.ts'
import { Adjustments, type Adjusted } from './adjustments.ts'
import type { Ban, QuotaStore } from './store.ts'
import { CachedRefusals, type Asker, type DecisiveTerms, type Now } from './cached-refusals.ts'
import { areLater, unanswered, type Adjustment } from './counters.ts'
import { crowdedHere, fullAlone, placed } from './crowded-here.ts'
import type { GoneOf } from './gone-gateways.ts'
import { noLimits } from './limits.ts'
import { OfflineLimiter, type LastKnown, type WhenUnreachable } from './offline-limiter.ts'
import { remembered, rememberPurse, takeOver, type LastSeen } from './last-seen.ts'
import { countersByPart } from './parts.ts'
import { takenPart } from './purse.ts'
import type { Numbered } from './quota-state.ts'
import type { CacheSlot, Decision } from './step.ts'
import { OwnPlaces, type OpenQuestion } from './own-places.ts'
import { lookAtPlaces, partsWithPlaces, type LimitedPart } from './places.ts'

/** The least number of quotas, and of refusals, that a gateway remembers beside a remote store. */
const capacity = 100_000

/** For a question of cost 0, which only a ban can refuse, whatever the terms. */
const anyTerms: DecisiveTerms = { limits: noLimits, bans: undefined }

export type QuotasOptions = Readonly<{
  store: QuotaStore
  whenUnreachable: WhenUnreachable
  clock: Clock
  /** The last known number of gateways that count in the store; one by default. */
  gateways?: () => number
  /** Called when the store begins to fail, and with `undefined` when it is back. */
  trouble?: (error: Error | undefined) => void
  /** Counts the times of decisions, and the errors of the store. */
  meters?: { readonly store: Readonly<{ add(milliseconds: number): void }>; storeErrors: number }
  /** Called when the store reports a ban. */
  banned?: (ban: Ban) => void
  /** The id by which the store knows whose requests are under way, and which of some gateways the fleet holds for gone. */
  gateway?: string
  goneOf?: GoneOf | undefined
  /** A monotonic clock in milliseconds; tests pass one that they move. */
  ticks?: Clock
  /** Decides during outages; a simulation passes one that it looks into. */
  offline?: OfflineLimiter
  /** A simulation passes its own. */
  later?: Later
}>

/**
 * Makes the decisions of one gateway, with the store behind it. It answers running bans from memory,
 * sends the store the counters that it has seen, in case the store has lost them, and decides by those
 * counters alone while the store is out of reach.
 */
export class Quotas {
  readonly #store: QuotaStore
  readonly #options: QuotasOptions
  readonly #ticks: Clock
  readonly #endWatch: () => void
  readonly #seen = new BoundedMap<LastSeen>(capacity)
  readonly #offline: OfflineLimiter
  readonly #adjustments = new Adjustments((...told) => this.#tellAdjustment(...told))
  readonly #cachedRefusals = new CachedRefusals(capacity)
  readonly #places: OwnPlaces
  /** The store's time minus `ticks`. */
  #offsetMs: number
  /** The round trip behind `#offsetMs`: the store's clock may be later than the estimate by this much. */
  #lagMs = 0
  /** The failures that last: `store` as its watch reports, `decision` for one that it could not make. */
  readonly #failing = new Set<'store' | 'decision'>()

  constructor(options: QuotasOptions) {
    const { store, whenUnreachable, clock, ticks, banned } = options
    this.#options = options
    this.#store = store
    this.#offline = options.offline ?? new OfflineLimiter({ whenUnreachable, capacity })
    this.#ticks = ticks ?? (store.isLocal ? clock : () => performance.now())
    this.#offsetMs = clock() - this.#ticks()
    this.#places = new OwnPlaces({
      tell: (reports) => store.tellPlaces(reports),
      goneOf: options.goneOf,
      ticks: this.#ticks,
      by: options.gateway,
      wait: options.later,
    })
    this.#endWatch = store.watch({
      banned: (ban) => {
        this.#cachedRefusals.banned(ban.key, ban.untilMs)
        banned?.(ban)
      },
      forgiven: () => {
        this.#cachedRefusals.forget()
        // Its places may have been freed.
        this.#places.tellAnewSoon()
      },
      reconnected: () => this.#places.reconnected(),
      trouble: (cause) => this.#setFailing('store', cause),
      took: (milliseconds) => options.meters?.store.add(milliseconds),
    })
  }

  /** Whether the last questions to the store were answered. */
  get isReachable(): boolean {
    return this.#failing.size === 0
  }

  /** The last known number of gateways that count in the store. */
  get gateways(): number {
    return this.#options.gateways?.() ?? 1
  }

  /** The requests of each plan that this gateway has under way, where they are limited. */
  placesByPlan(): ReadonlyMap<string, number> {
    return this.#places.byPlan()
  }

  /** The estimate of the store's time; it goes on while the store is out of reach. */
  get nowMs(): number {
    return this.#now().nowMs
  }

  /** Notes the store's time, before the first decision tells it. */
  noteTime(nowMs: number): void {
    this.#offsetMs = nowMs - this.#ticks()
  }

  /** Decides and counts. Never throws: if the store can't decide, the gateway does. */
  decide(
    asker: Asker,
    terms: DecisiveTerms,
    cost: number,
    slot?: CacheSlot,
  ): Decision | Promise<Decision> {
    const withPlaces = terms.hasPlaces ? partsWithPlaces(terms.limits, terms.parts) : []
    const limited = withPlaces.length > 0 ? withPlaces : undefined
    if (this.#store.isLocal) return this.#decideHere(asker, terms, cost, slot, limited)
    return (
      this.#cachedRefusals.forBan(asker, cost, this.#now) ??
      // During an outage a full window isn't final: the offline limiter decides by its own counters.
      (this.isReachable
        ? (this.#cachedRefusals.forFullWindow(asker, terms, cost, this.#now) ??
          (limited && this.#crowdedHere(asker.quota, limited, terms, cost)))
        : undefined) ??
      this.#decideElsewhere(asker, terms, cost, limited)
    )
  }

  /** The state of a caller's limits. Asks the store even if a ban is cached, and counts nothing. */
  stand(asker: Asker, terms: DecisiveTerms): Decision | Promise<Decision> {
    return this.#store.isLocal
      ? this.#decideHere(asker, terms, 0)
      : this.#decideElsewhere(asker, terms, 0)
  }

  /** Whether this gateway knows of a running ban; asks no remote store. */
  isBanned(asker: Asker): boolean {
    if (!this.#store.isLocal) return this.#cachedRefusals.forBan(asker, 0, this.#now) !== undefined
    const decision = this.#decideHere(asker, anyTerms, 0)
    return !(decision instanceof Promise) && decision.verdict === 'banned'
  }

  /** Gives the points of a request back to its windows, because the request could not be answered. */
  giveBack(quota: string, decision: Decision): Promise<void> {
    return this.adjust(quota, decision, unanswered(decision.cost))
  }

  /** Adjusts what a request has cost beside what it was admitted with. Never throws. */
  async adjust(quota: string, decision: Decision, adjustment: Adjustment): Promise<void> {
    if (adjustment.points === 0 || decision.isUncounted) return
    const usage = decision.decidedBy === 'alone' ? this.#offline.usageOf(quota) : undefined
    if (usage) return usage.adjust(decision, adjustment)
    const adjusted = { quota, decision, adjustment }
    if (this.#store.isLocal) return this.#tellAdjustment(adjusted).catch(() => undefined)
    const outcome = await this.#adjustments.make(adjusted)
    if (outcome === 'made') return
    const isReported = outcome === 'undone'
    this.#offline.adjust(quota, this.#seen.get(quota), decision, adjustment, isReported)
  }

  /** Reports to the store what it hasn't counted yet, without waiting for requests. Never throws. */
  async settle(): Promise<void> {
    if (this.#store.isLocal || !this.isReachable) return
    await this.#adjustments.repeat()
    for (const [quota, usage] of this.#offline.unsettled()) {
      const owed = usage.nextReport()
      if (!owed) {
        this.#offline.forgetIfSettled(quota, usage)
        continue
      }
      let isAcknowledged = false
      try {
        const ask = { key: '', cost: 0, limits: noLimits, seen: this.#seen.get(quota), owed }
        this.#remember(quota, await this.#store.decide(quota, ask))
        isAcknowledged = true
      } catch (error) {
        if (error instanceof StoreUnavailable) return
        continue
      } finally {
        usage.endReport(isAcknowledged)
      }
      this.#offline.forgetIfSettled(quota, usage)
    }
  }

  close(): void {
    this.#places.close()
    this.#endWatch()
  }

  readonly #tellAdjustment = async (
    { quota, decision, adjustment }: Adjusted,
    numbered?: Numbered,
  ): Promise<void> => {
    const { seen: counters, included, purse } = decision
    const [parts, seen] = [countersByPart(decision.parts), this.#seen.get(quota)]
    const admission = { counters, parts, seen, included, purse, numbered }
    const present = await this.#store.adjust(quota, adjustment, admission)
    if (seen && areLater(present, seen)) takeOver(seen, present)
    if (seen && present.purse)
      rememberPurse(seen, present, present.purse, present.parts?.get(takenPart))
    if (adjustment.points < 0) this.#cachedRefusals.hasRoom(quota)
  }

  #decideHere(
    asker: Asker,
    terms: DecisiveTerms,
    cost: number,
    slot?: CacheSlot,
    limited?: readonly LimitedPart[],
  ): Decision | Promise<Decision> {
    const { quota } = asker
    const question = limited && this.#places.begin(quota, limited)
    try {
      const ask = { ...askOf(asker, terms, cost, question), slot }
      const decision = this.#store.decide(quota, ask)
      if (!this.isReachable) this.#setFailing('decision', undefined)
      if (!question) return decision
      return decision instanceof Promise
        ? decision.then((decided) => placed(this.#places, decided, question))
        : placed(this.#places, decision, question)
    } catch (error) {
      if (question) this.#places.giveUp(question)
      this.#setFailing('decision', asError(error))
      return this.#decideOffline(asker, terms, cost, limited)
    }
  }

  /** Gives back points that the store has counted late: the gateway has decided by itself meanwhile, and reports those that it let in. */
  readonly #late = async (quota: string, decision: Decision): Promise<void> => {
    if (decision.verdict !== 'admitted') return
    const points = -decision.cost
    await this.adjust(quota, decision, { points, isAnswered: true, isLate: true })
  }

  #crowdedHere(
    quota: string,
    parts: readonly LimitedPart[],
    terms: DecisiveTerms,
    cost: number,
  ): Decision | undefined {
    const seen = this.#seen.get(quota)
    return crowdedHere(this.#places, { quota, parts }, terms, cost, seen, this.#now())
  }

  async #decideElsewhere(
    asker: Asker,
    terms: DecisiveTerms,
    cost: number,
    limited?: readonly LimitedPart[],
  ): Promise<Decision> {
    const { quota } = asker
    const question = limited && this.#places.begin(quota, limited)
    const seen = this.#seen.get(quota)
    const usage = this.#offline.usageOf(quota)
    const owed = usage?.nextReport()
    const askedAtTicks = this.#ticks()
    try {
      const atMs = Math.floor(askedAtTicks + this.#offsetMs)
      const ask = { ...askOf(asker, terms, cost, question), seen, atMs, owed, late: this.#late }
      const decision = await this.#store.decide(quota, ask)
      const ticks = this.#ticks()
      this.#lagMs = ticks - askedAtTicks
      this.#offsetMs = decision.nowMs - ticks
      this.#options.meters?.store.add(this.#lagMs)
      this.#remember(quota, decision, seen)
      if (owed) usage?.endReport(true)
      if (usage) this.#offline.forgetIfSettled(quota, usage)
      this.#cachedRefusals.note(asker, terms, decision)
      return question ? placed(this.#places, decision, question) : decision
    } catch {
      if (owed) usage?.endReport(false)
      if (question) this.#places.giveUp(question)
      return this.#decideOffline(asker, terms, cost, limited)
    }
  }

  #remember(quota: string, decision: Decision, last = this.#seen.get(quota)): void {
    const present = remembered(last, decision)
    if (present !== last) this.#seen.set(quota, present)
  }

  #decideOffline(
    { id, quota }: Asker,
    terms: DecisiveTerms,
    cost: number,
    limited?: readonly LimitedPart[],
  ): Decision {
    const { meters, whenUnreachable } = this.#options
    if (meters) meters.storeErrors++
    const seen = this.#seen.get(quota)
    const last: LastKnown = {
      seen,
      granted: seen?.granted,
      nowMs: this.#now().nowMs,
      gateways: this.gateways,
    }
    const isAlone = whenUnreachable === 'local'
    const full = limited && isAlone && fullAlone(this.#places, quota, limited, this.gateways)
    const asked = { key: id, ...terms, ...(full ? { cost: 0, least: 0 } : { cost }) }
    const decision = this.#offline.decide(quota, asked, last)
    if (decision.verdict === 'banned') this.#cachedRefusals.banned(id, decision.bannedUntilMs)
    if (decision.verdict !== 'admitted' || !limited) return decision
    if (!full) return { ...decision, place: this.#places.takeAlone(quota, limited) }
    const underWay = this.#places.underWayIn(quota)
    return { ...decision, verdict: 'crowded', places: [{ ...full, used: full.limit }], underWay }
  }

  readonly #now = (): Now => {
    return { nowMs: Math.floor(this.#ticks() + this.#offsetMs), lagMs: this.#lagMs }
  }

  #setFailing(what: 'store' | 'decision', error: Error | undefined): void {
    const wasReachable = this.isReachable
    if (error) this.#failing.add(what)
    else this.#failing.delete(what)
    if (this.isReachable !== wasReachable) this.#options.trouble?.(error)
  }
}

/** A question to the store; with the places of one that takes some. */
function askOf(
  { id }: Asker,
  { limits, included, prepaid, bans, least, countsBrief, parts, hasPlaces }: DecisiveTerms,
  cost: number,
  question: OpenQuestion | undefined,
) {
  const place = question?.ask ?? (hasPlaces ? lookAtPlaces : undefined)
  return { key: id, cost, least, limits, included, prepaid, parts, countsBrief, bans, place }
}
