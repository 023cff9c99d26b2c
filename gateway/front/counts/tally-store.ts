import type { CountStore } from './batch.ts'

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

/** The same without its day and its time. */
export type KeyCount = Pick<Tally, 'key' | 'what' | 'count'>

/** The number of days that are kept. */
export const rememberedDays = 90

/** Tallies of keys by day, which are summed up. Days older than `rememberedDays` are deleted. */
export interface TallyStore extends CountStore<Tally> {
  /** The sums of all days from the first to the last, both included, in any order; of one key, or of all. */
  list(fromDay: number, toDay: number, key?: string): AsyncIterable<Tally>

  /**
   * The sums of one day of some keys and some things, in any order; those of 0 are left out. It looks at nothing else, so
   * that it may be asked every few seconds.
   */
  some(day: number, keys: readonly string[], whats: readonly string[]): Promise<readonly KeyCount[]>
}
