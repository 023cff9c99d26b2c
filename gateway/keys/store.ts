import type { Key, StoredKey } from './key.ts'

/**
 * Where keys are kept. Any number of gateways and command lines work on one store at a time.
 *
 * Every key has a version: the number of the change that made it what it is, from one count for the
 * whole store, so that "what has changed since" can be asked. Nothing is ever removed: a revoked
 * key stays, revoked, and the token of it can never come back.
 *
 * Absence is `undefined`. A store that can't be reached throws, or rejects, and has changed nothing;
 * it never says that a key doesn't exist because it could not look.
 */
export interface KeyStore {
  /** The key that a secret belongs to, by the hash of its token, whatever state it is in. */
  find(hash: string): StoredKey | undefined | Promise<StoredKey | undefined>

  get(id: string): StoredKey | undefined | Promise<StoredKey | undefined>

  /** All keys, in no order that means anything; those added meanwhile may be among them or not. */
  list(): AsyncIterable<Key>

  /**
   * The keys of these ids in batches, in no order that means anything; those that aren't there are left out. However
   * many are asked for, decisions go on meanwhile.
   */
  named(ids: readonly string[]): AsyncIterable<readonly Key[]>

  /**
   * Batches of all names that `find` knows, the hashes of secrets, for a memory of what can be found at
   * all. Of those that come meanwhile some may be missing: who watches hears of them.
   */
  names(): AsyncIterable<readonly string[]>

  /**
   * Adds keys, all or none: nobody sees the first before all are there. If an id or a secret is
   * taken, nothing is added and the answer is the place of the first such key in the list.
   * `progress` is told how many are written.
   */
  add(keys: readonly Key[], progress?: (written: number) => void): Promise<Added>

  /** Puts a key in the place of the version that was read; `false` if it has changed meanwhile. */
  replace(key: Key, version: number): Promise<boolean>

  /**
   * Tells of each key that is added or changed, by whomever, within a second, and of those that were
   * missed while the store was out of reach once it is back.
   */
  watch(listener: KeyListener): Watch

  close(): Promise<void>
}

export type Added = Readonly<{ clash?: number }>

export type KeyListener = Readonly<{
  changed: (keys: readonly StoredKey[]) => void
  /** Told when keeping up begins to fail, and when it works again; not each time it fails. */
  trouble?: (error: Error | undefined) => void
}>

/** A watch that goes on until it is closed. */
export interface Watch {
  /** When this process last knew that it had heard of every change; milliseconds since 1970. */
  readonly upToDateAtMs: number
  /** Whether the store has answered this watch at least once; left out where it answers at once. */
  readonly isMet?: boolean
  /** Whether it has heard of every change there is by now; left out where that can't be said at once. */
  isUpToDate?(): boolean
  close(): void
}

/** How often a store is asked for changes, whatever else tells of them. */
export const pollMs = 250
