/** How often a key has done something on a day. */
export type Tally = Readonly<{
  /** Days since 1970, in UTC. */
  day: number
  key: string
  what: string
  count: number
  /** When last, where that is of interest; else 0. */
  lastMs: number
}>

/** How many days are remembered. */
export const rememberedDays = 90

/**
 * What keys have done, by day, added up for any number of gateways. Nothing on a request's way waits
 * for it: gateways add what has come together since the last time.
 *
 * A store that can't be reached rejects; what it has added by then is not known, so the same batch is
 * handed in again.
 */
export interface TallyStore {
  /**
   * Adds to what is there, once, however often it is asked with the same id of a batch. Days that are
   * older than is remembered are forgotten.
   */
  add(batch: string, tallies: readonly Tally[]): Promise<void>

  /** What has been added for some days, the first and the last of them included, in no order; of one key, or all. */
  list(fromDay: number, toDay: number, key?: string): AsyncIterable<Tally>
}
