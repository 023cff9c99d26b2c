import { breathe } from '../../shared/breathe.ts'
import type { Clock } from '../../shared/clock.ts'
import type { KeyStore, Watch } from './store.ts'
import { BloomFilter } from './bloom-filter.ts'
import type { Caller } from './caller.ts'
import { CallerCache } from './cache.ts'
import type { Meters } from '../records/meters.ts'
import type { StoredKey } from './key.ts'
import { hashOf } from './token.ts'

/** How long keys that were met go on working while the store can't be asked what has changed. */
const longestStaleMs = 10 * 60_000

/** How long to wait before the hashes of a store that was out of reach are asked for again. */
const relearnMs = 1_000

/** What is found for a token: its caller, that it is no key, or that nobody can say at present. */
export type Found = Caller | 'unknown' | 'unavailable'

export type DirectoryOptions = Readonly<{
  store: KeyStore
  /** How many keys are held in memory at most. */
  cacheSize: number
  clock: Clock
  /** Where it is noted how often the store can't be asked. */
  meters?: Pick<Meters, 'storeErrors'>
  /** Told when the store begins to fail, and with `undefined` when it is back. */
  trouble?: (error: Error | undefined) => void
}>

/** Finds the callers of tokens for one gateway: from its memory where it can, from the store else. */
export class KeyDirectory {
  readonly #store: KeyStore
  readonly #cache: CallerCache
  readonly #clock: Clock
  readonly #watch: Watch
  readonly #meters: DirectoryOptions['meters']
  /** The hashes of all secrets. Ids aren't among them: they may be seen, so a token with one proves nothing. */
  #known: BloomFilter | undefined
  /** What was heard of while the store's hashes are being read. */
  #heard: StoredKey[] | undefined
  /** Look-ups that are under way, by token. */
  readonly #asked = new Map<string, Promise<Found>>()
  #closed = false

  constructor({ store, cacheSize, clock, meters, trouble }: DirectoryOptions) {
    this.#meters = meters
    this.#store = store
    this.#clock = clock
    this.#cache = new CallerCache(cacheSize)
    this.#watch = store.watch({
      changed: (keys) => this.#hear(keys),
      ...(trouble ? { trouble } : {}),
    })
    void this.#learnHashes()
  }

  /** Whether the store has answered at least once: before, nobody can be let in. */
  get isMet(): boolean {
    return this.#watch.isMet ?? true
  }

  /** What memory knows of a token: nothing of one that was not met lately. */
  recall(token: string): Caller | undefined {
    const cached = this.#cache.get(token)
    const stale = cached && this.#clock() - this.#watch.upToDateAtMs > longestStaleMs
    return stale ? undefined : cached
  }

  /** Whether a token can be one of the store's, as far as memory can tell without asking it. */
  mayExist(token: string): boolean {
    return this.#mayHave(hashOf(token))
  }

  #mayHave(hash: string): boolean {
    return this.#known?.mayHave(hash) ?? true
  }

  /** Whether memory is sure enough of its denial: the store has told of all its changes, just now if need be. */
  #isDenied(hash: string): boolean {
    return this.#watch.isUpToDate?.() === true && !this.#mayHave(hash)
  }

  /** Asks the store, if it has to be asked; at once if it can answer at once, and once for all who ask at the same time. */
  look(token: string): Found | Promise<Found> {
    const hash = hashOf(token)
    if (this.#isDenied(hash)) return 'unknown'
    const asked = this.#asked.get(token)
    if (asked) return asked
    const answer = (stored: StoredKey | undefined): Found =>
      stored ? this.#cache.add(token, stored) : 'unknown'
    try {
      const stored = this.#store.find(hash)
      if (!(stored instanceof Promise)) return answer(stored)
      const found = stored.then(answer, () => this.#unavailable())
      this.#asked.set(token, found)
      return found.finally(() => this.#asked.delete(token))
    } catch {
      return this.#unavailable()
    }
  }

  #unavailable(): Found {
    if (this.#meters) this.#meters.storeErrors++
    return 'unavailable'
  }

  close(): void {
    this.#closed = true
    this.#watch.close()
  }

  #hear(keys: readonly StoredKey[]): void {
    for (const stored of keys) {
      this.#cache.update(stored)
      for (const { hash } of stored.key.secrets) this.#known?.add(hash)
    }
    this.#heard?.push(...keys)
    if (this.#known?.isFull && !this.#heard) void this.#learnHashes()
  }

  /**
   * Reads which hashes there are. Until that is done for the first time, all may exist; later the filter
   * that is full serves until the larger one is there.
   */
  async #learnHashes(): Promise<void> {
    const heard: StoredKey[] = (this.#heard = [])
    try {
      const hashes: string[] = []
      for await (const batch of this.#store.names()) {
        if (this.#closed) return
        for (const hash of batch) hashes.push(hash)
      }
      const known = new BloomFilter(Math.max(8_192, hashes.length * 2))
      for (let i = 0; i < hashes.length; i++) {
        known.add(hashes[i] ?? '')
        // Requests are served in between: a million hashes take half a second in all.
        if (i % 5_000 === 4_999) await breathe()
      }
      this.#known = known
      this.#heard = undefined
      this.#hear(heard)
    } catch {
      // The store is out of reach and says so itself; the filter is for floods, and has time.
      if (!this.#closed) setTimeout(() => void this.#learnHashes(), relearnMs).unref()
    }
  }
}
