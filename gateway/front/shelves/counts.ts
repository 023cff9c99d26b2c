/** How a number of a line is merged with the stored one. */
export type Merging = 'sum' | 'max' | 'latest'

/** A named space of numbers. Stores lay it out as they like: it says what is asked of it. */
export type Space = Readonly<{
  /** A word of lower-case letters. */
  name: string
  /** The length of one of its times, such as a day: times are counted in it from 1970 on. */
  unitMs: number
  /** The number of times that are kept, back from the latest one. */
  kept: number
  /** The numbers of a line. */
  merge: readonly Merging[]
  /** What is read of it: `times`: all of a time, or some keys of it. `whole`: all keys in a range. `key`: one key in a range. */
  readBy: 'times' | 'whole' | 'key'
  /** The most lines of a key that are kept; the oldest go, sooner or later. */
  mostOfKey?: number
}>

/**
 * A line: the numbers of one part of a key at one time, whole and from 0 on. Keys and parts are any texts of at most 1,024
 * characters; a key has one at least.
 */
export type CountLine = Readonly<{
  key: string
  part: string
  at: number
  numbers: readonly number[]
}>

/** Lines that one gateway has counted. Its batches are numbered in their order, so that each is added once. */
export type Batch<Line> = Readonly<{ by: string; number: number; lines: readonly Line[] }>

export type CountBatch = Batch<CountLine>

/** Lines in columns: millions of them as objects cost a second of collections. */
export type Lines = Readonly<{
  keys: readonly string[]
  parts: readonly string[]
  ats: readonly number[]
  /** Those of a line begin at its index times the length of `merge`. */
  numbers: readonly number[]
}>

/**
 * Counts of any number of gateways. No request waits for it.
 *
 * A store that can't be asked at the moment rejects with `StoreUnavailable`. It may have added part of a batch, so the
 * gateway hands the same batch in again.
 */
export interface Counts {
  /**
   * Adds a batch. What was added already of one with a known number of `by` is ignored. Forgets what is too old or too much,
   * some with each call.
   */
  add(space: Space, batch: CountBatch): Promise<void>

  /**
   * The lines from one time to another, both included, each once and some at a time, so that requests go on meanwhile. Not of
   * a space that is read by key. In a `whole` space the lines of a key come in one piece, one behind the other; so do those of
   * one of its times, with the part '' first.
   */
  list(space: Space, from: number, to: number): AsyncIterable<Lines>

  /**
   * The lines of some keys from one time to another, in any order; none for a key without any. It costs the same however many
   * keys the store has. The range is no longer than what is kept.
   */
  of(space: Space, keys: readonly string[], from: number, to: number): Promise<Lines>
}

/** Columns to which lines can be added. */
export type Columns = { keys: string[]; parts: string[]; ats: number[]; numbers: number[] }

/** Columns without lines. */
export function noLines(): Columns {
  return { keys: [], parts: [], ats: [], numbers: [] }
}
