/** The number of times that a key has done one thing on one day. */
export type Tally = Readonly<{
  /** Days since 1970, in UTC. */
  day: number
  key: string
  what: string
  count: number
  /** The time of the last one, for calls of deprecated operations; else 0. */
  lastMs: number
}>

/** The number of days that are kept. */
export const rememberedDays = 90

/**
 * Tallies of keys by day, summed up for any number of gateways. No request waits for it: gateways add their counts
 * from time to time.
 *
 * A store that can't be asked at the moment rejects with `StoreUnavailable`. It may have added part of
 * the batch, so the gateway hands the same batch in again.
 */
export interface TallyStore {
  /**
   * Adds a batch to the sums. A batch with a known id is ignored, so a batch can be repeated. Deletes days older than
   * `rememberedDays`.
   */
  add(batch: string, tallies: readonly Tally[]): Promise<void>

  /**
   * The sums of all days from the first to the last, both included, in any order; of one key, or of all. Of one key, only
   * those with a name among `whats` are asked for: a store may then read less, and may give others as well.
   */
  list(
    fromDay: number,
    toDay: number,
    key?: string,
    whats?: readonly string[],
  ): AsyncIterable<Tally>
}
