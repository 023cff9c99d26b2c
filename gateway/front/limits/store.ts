import type { Adjustment, Counters } from './counters.ts'
import type { Grant, NewGrant } from './grants.ts'
import type { QuotaPoints } from './past-points.ts'
import type { PlacesTold, TakenPlaces } from './places.ts'
import type { Admission } from './quota-state.ts'
import type { Parts } from './parts.ts'
import type { Purse } from './purse.ts'
import type { Ask, Decision } from './step.ts'
import type { NewTopUp, TopUp, TopUpOutcome } from './top-ups.ts'

/** A ban that runs. */
export type Ban = Readonly<{ key: string; quota: string; untilMs: number }>

/** How many requests of a quota a gateway has under way. */
export type PlaceReport = Readonly<{ quota: string; told: PlacesTold }>

/** The counters of a quota, and its purse with the part that counts what was taken. */
export type Adjusted = Counters & { purse?: Purse | undefined; parts?: Parts | undefined }

/** Hears from a store about bans, and about its health. */
export type BanListener = Readonly<{
  /** A key was banned, by its own strikes or by an operator. */
  banned: (ban: Ban) => void
  /** A ban was lifted, a quota reset or points granted or bought somewhere: cached refusals may be untrue. */
  forgiven: () => void
  /** An outage has begun; with `undefined`, it is over. A single failure isn't an outage. */
  trouble?: (cause: Error | undefined) => void
  /** The store was connected to anew: it may have lost what it was told. */
  reconnected?: () => void
  /** The time that a write of counters took, for a store that counts in memory. */
  took?: (milliseconds: number) => void
}>

/**
 * Holds the counters of quotas for any number of gateways. Each method is one atomic step.
 *
 * `decide` answers at once where the store is in memory, else by a promise. A store that can't be
 * asked at the moment throws, or rejects with, `StoreUnavailable`; the request may have been counted
 * then or not. Time is the store's: one clock for all gateways.
 */
export interface QuotaStore {
  /** Whether it can't lose counters while this process lives, so that questions carry no `seen` and no `owed`, and no adjustment comes twice. */
  readonly isLocal: boolean
  /** Decides a request and counts it. With cost 0 it counts nothing, and gives the state of the limits. */
  decide(quota: string, ask: Ask): Decision | Promise<Decision>
  /**
   * Adjusts what a request has cost: in the windows of its admission that still run; of an ended day, or after a reset, for
   * the ledger alone. First it takes the larger counts that the gateway has seen, as a decision does. One whose number
   * says that it was made already changes nothing. Gives the counters since, and the purse if there is one.
   */
  adjust(quota: string, adjustment: Adjustment, admission: Admission): Adjusted | Promise<Adjusted>
  /** Notes how many requests of quotas a gateway has under way. A report that is repeated or late changes nothing. */
  tellPlaces(reports: readonly PlaceReport[]): Promise<void>
  /** Whose requests are under way, as their gateways have told. */
  places(quota: string): Promise<readonly TakenPlaces[]>
  /** Frees all places of a quota; each live gateway tells its own anew. */
  freePlaces(quota: string): Promise<void>
  /** Empties all windows of a quota. For the ledger its points stay. */
  reset(quota: string): Promise<void>
  /** Has the months of a quota begin on another day, 1 to 28. The running one begins anew, other windows go on. */
  setMonthFrom(quota: string, monthFrom: number): Promise<void>
  /**
   * Adds points to the limits of windows that run; they are gone with their window. Several add up. `false` if the quota
   * has `mostGrants` already whose windows run.
   */
  grant(quota: string, grant: NewGrant): Promise<boolean>
  /** The latest grants to a quota, the oldest first. Some may be of windows that have ended. */
  grants(quota: string): Promise<readonly Grant[]>
  /** Adds points to those that a quota has bought, or takes some: once for each of the latest `mostTopUps` ids. */
  topUp(quota: string, topUp: NewTopUp): Promise<TopUpOutcome>
  /** The latest top-ups of a quota, the oldest first. */
  topUps(quota: string): Promise<readonly TopUp[]>
  /** Bans a key until a time, a whole second for an operator's ban; replaces a ban that runs. */
  ban(quota: string, key: string, untilMs: number): Promise<void>
  /** Ends a ban and forgets it; `false` if no ban ran. */
  lift(quota: string, key: string): Promise<boolean>
  bans(): Promise<readonly Ban[]>
  /** Writes down counters that only this process knows, for those who read the store beside it. */
  flush?(): Promise<void>
  /**
   * The points of a day of all quotas that have any, some at a time: of today, or of one of the `pastDays` before. A quota
   * may come twice; then the later number is right. Decisions go on meanwhile.
   */
  points(day: number): AsyncIterable<readonly QuotaPoints[]>
  /**
   * Reports the lifts, resets and grants of all processes within a second, and bans where that spares a
   * question. Returns the function that ends the watch.
   */
  watch(listener: BanListener): () => void
  close(): Promise<void>
}
