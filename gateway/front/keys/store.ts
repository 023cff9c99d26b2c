import type { KeyFilter } from './filter.ts'
import type { Key, StoredKey } from './key.ts'

/**
 * Stores keys. Any number of gateways and command lines use one store at the same time.
 *
 * Every key has a version, the number of its latest change. One count for the whole store gives the
 * versions, so that a reader can ask for the changes since one. Keys with tokens are never removed: a revoked key
 * stays, and its token can never come back.
 *
 * Absence is `undefined`. A store that can't be asked at the moment throws, or rejects with,
 * `StoreUnavailable`; it never says that a key doesn't exist because it could not look.
 */
export interface KeyStore {
  /** The key of a token, by the token's hash, in any state. */
  find(hash: string): StoredKey | undefined | Promise<StoredKey | undefined>

  get(id: string): StoredKey | undefined | Promise<StoredKey | undefined>

  /** All keys, in any order. Keys that are added meanwhile may be included or not. */
  list(): AsyncIterable<Key>

  /**
   * A page of the wanted keys, by name in one case and then by id. Every wanted key is on one page, whatever is added
   * meanwhile; one that is renamed between two pages may be on both or on none. Decisions go on meanwhile.
   */
  page(query: PageQuery): Promise<KeyPage>

  /**
   * The names of the keys with these ids in batches, in any order, without those that don't exist. Decisions go on
   * meanwhile, whatever the number of ids.
   */
  named(ids: readonly string[]): AsyncIterable<readonly Named[]>

  /**
   * The hashes of all secrets in batches, for a filter before `find`. Hashes that are added meanwhile may be
   * missing; `watch` reports them.
   */
  names(): AsyncIterable<readonly string[]>

  /**
   * Adds keys, all or none; the first becomes visible when all are stored. If an id or a secret is taken,
   * nothing is added, and `clash` is the index of the first such key in the list. `progress` gets the number
   * of keys written so far. Many are added fastest in the order of their ids.
   */
  add(keys: Keys, progress?: (written: number) => void): Promise<Added>

  /** Replaces a key that still has the version that was read; `false` if it has changed meanwhile. */
  replace(key: Key, version: number): Promise<boolean>

  /**
   * Removes the record of a caller from outside, which has no token, with its last uses, if it still has the version that
   * was read; `false` if it has changed meanwhile. No watch reports it.
   */
  remove(stored: StoredKey): Promise<boolean>

  /**
   * Reports each key that any process adds or changes, within a second. Changes during an outage are reported
   * after it.
   */
  watch(listener: KeyListener): Watch

  close(): Promise<void>
}

export type PageQuery = Readonly<{
  filter: KeyFilter
  /** The most keys. */
  limit: number
  /** The `end` of the page before; without it the first page is given. */
  after?: string | undefined
  nowMs: number
}>

/** Some keys; `end` is the place at which the next page begins, and absent on the last one. */
export type KeyPage = Readonly<{ keys: readonly Key[]; end?: string }>

/** A key by its id, and its name. */
export type Named = Readonly<{ id: string; name: string; reference?: string; test?: true }>

/** Keys in any number, which need not all be in memory as objects. */
export type Keys = Iterable<Key> & Readonly<{ length: number }>

export type Added = Readonly<{ clash?: number }>

export type KeyListener = Readonly<{
  changed: (keys: readonly StoredKey[]) => void
  /** Called once when the watch begins to fail, and with `undefined` when it works again. */
  trouble?: (error: Error | undefined) => void
  /**
   * Called within a second after the store was emptied, or another one took its place: any key that was read before may be
   * missing. `epoch` is the new name of the store, the same for all who watch it.
   */
  emptied?: (epoch: string) => void
}>

/** A watch that goes on until it is closed. */
export interface Watch {
  /** The last time at which this process had seen every change; milliseconds since 1970. */
  readonly upToDateAtMs: number
  /** Whether the store has answered at least once; left out by a store that answers at once. */
  readonly isMet?: boolean
  /** Whether it has seen every change up to now; left out by a store that can't tell at once. */
  isUpToDate?(): boolean
  close(): void
}

/** The time between two polls for changes, beside any messages. */
export const pollMs = 250
