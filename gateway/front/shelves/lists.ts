/** A list of a gateway. Stores lay it out as they like. */
export type List = Readonly<{
  /** A word of lower-case letters. */
  name: string
  /** The least number of entries that are kept; beyond it the oldest go, sooner or later. */
  most: number
  /** How long entries are kept; without it for good. Older ones go with later additions. */
  keptMs?: number
  /** Whether an entry that was added outlives a power cut. */
  outlivesPowerCut: boolean
}>

/** Any text. Several may have one key, a text of at most 1,024 characters; '' is none. */
export type Entry = Readonly<{ key: string; body: string }>

/** The cursor before the first entry of each list. */
export const listStart = '0'

/**
 * Lists of texts, for any number of processes: entries are added at the end, and never change.
 *
 * A store that can't be asked at the moment rejects with `StoreUnavailable`; then entries may have been added or not.
 */
export interface Lists {
  /** Adds entries in their order: all of them or none. */
  add(list: List, entries: readonly Entry[]): Promise<void>

  /**
   * Some entries since a cursor, the oldest first, and the cursor to go on from; it is the same once there are none. Without a
   * cursor: no entries, and the current end.
   */
  since(
    list: List,
    cursor?: string,
  ): Promise<Readonly<{ entries: readonly Entry[]; cursor: string }>>

  /** The entries, the newest first and some at a time; with a key those of that one, without reading the others. */
  back(list: List, key?: string): AsyncIterable<readonly Entry[]>

  /** Removes the entries up to a cursor. */
  forget(list: List, cursor: string): Promise<void>
}
