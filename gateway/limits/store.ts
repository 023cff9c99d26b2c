import type { Ask, Decision } from './step.ts'

/** A ban that runs. */
export type Ban = Readonly<{ key: string; quota: string; untilMs: number }>

/** What others tell of bans. */
export type BanListener = Readonly<{
  /** A key was banned, by its own doing or by an operator. */
  banned: (ban: Ban) => void
  /** A ban was lifted or a quota reset somewhere: what this process remembers may be untrue. */
  forgiven: () => void
  /** The store can't be reached any more; with `undefined`, it can again. A single failure is none. */
  trouble?: (cause: Error | undefined) => void
  /** How long it took to write counters down, where counting itself is done in memory. */
  took?: (milliseconds: number) => void
}>

/**
 * What has been counted, by quota, for any number of gateways. Each method is one atomic step.
 *
 * `decide` answers at once where the store is in memory, else by a promise. It throws or rejects if
 * the store can't be reached; whether the request was counted then is not known. Time is the
 * store's: one clock for all gateways.
 */
export interface QuotaStore {
  /** Whether what it holds can't be lost while this process lives, so that nothing need be carried. */
  readonly isLocal: boolean
  /** How many gateways count here, as far as was last known; this one included. */
  readonly gateways: number
  /** Decides a request and counts it; with cost 0 it counts nothing and tells where the key stands. */
  decide(quota: string, ask: Ask): Decision | Promise<Decision>
  /** Gives back what a request of a day has cost, if that day still runs. */
  giveBack(quota: string, cost: number, day: number): void | Promise<void>
  /** Empties both windows of a quota. */
  reset(quota: string): Promise<void>
  /** Bans a key until a time, in place of a ban that runs. */
  ban(quota: string, key: string, untilMs: number): Promise<void>
  /** Ends a ban, and forgets it; `false` if none ran. */
  lift(quota: string, key: string): Promise<boolean>
  bans(): Promise<readonly Ban[]>
  /**
   * Tells of lifts and resets, by whomever, within a second, and of bans where that spares a question.
   * Gives what ends the watch.
   */
  watch(listener: BanListener): () => void
  close(): Promise<void>
}
