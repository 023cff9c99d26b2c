import { breathe } from '../../../shared/breathe.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { KeyListener, KeyStore, Watch } from './store.ts'
import { BloomFilter } from './bloom-filter.ts'
import { stateOf, type Caller } from './caller.ts'
import { CallerCache } from './cache.ts'
import type { StoredKey } from './key.ts'
import { counts, isToBeAskedAgain, type Outside, type Outsider } from './outsider.ts'
import { hashOfName } from './token.ts'

/** How long cached keys work while the store can't be asked for changes. */
const longestStaleMs = 10 * 60_000

/** The delay before the next try to read all hashes after a failure. */
const relearnMs = 1_000

/** The result of a look-up: the caller of a token, `unknown` without a key, `unavailable` without the store. */
export type LookUp = Caller | 'unknown' | 'unavailable'

/** Its listeners hear of keys that anybody adds or changes, of an outage, and of a store that was emptied. */
export type DirectoryOptions = Partial<KeyListener> &
  Readonly<{
    store: KeyStore
    /** The most callers in memory. */
    cacheSize: number
    clock: Clock
    /** Counts the errors of the store. */
    meters?: { storeErrors: number }
  }>

/** Finds the callers of tokens for one gateway, in memory or in the store. */
export class KeyDirectory {
  readonly #options: DirectoryOptions
  readonly #cache: CallerCache
  readonly #watch: Watch
  /** The hashes of all secrets; `undefined` until they are read. Ids aren't secret, so they prove nothing. */
  #hashes: BloomFilter | undefined
  /** The hashes of keys that changed since the reading of hashes began; `undefined` while none is read. */
  #hashesMeanwhile: string[] | undefined
  /** Look-ups that are under way, by token. */
  readonly #pending = new Map<string, Promise<LookUp>>()
  #closed = false

  constructor(options: DirectoryOptions) {
    const { store, cacheSize, trouble, emptied, changed } = options
    this.#options = options
    this.#cache = new CallerCache(cacheSize)
    this.#watch = store.watch({
      changed: (keys) => {
        this.#apply(keys)
        changed?.(keys)
      },
      ...(trouble ? { trouble } : {}),
      emptied: (epoch) => {
        this.#beginAnew()
        emptied?.(epoch)
      },
    })
    void this.#learnHashes()
  }

  /** Whether the store has answered at least once. Before that no request can be admitted. */
  get isMet(): boolean {
    return this.#watch.isMet ?? true
  }

  /** The cached caller of a token; `undefined` if it isn't cached, memory is too old, or somebody else is to be asked anew. */
  recall(token: string): Caller | undefined {
    const caller = this.#cached(token)
    const outside = caller && stateOf(caller).outside
    return outside && isToBeAskedAgain(outside.outsider, this.#options.clock()) ? undefined : caller
  }

  /** The same, though it may be time to ask anew about a caller from outside. */
  #cached(token: string): Caller | undefined {
    const cached = this.#cache.get(token)
    if (!cached) return undefined
    const nowMs = this.#options.clock()
    if (nowMs - this.#watch.upToDateAtMs > longestStaleMs) return undefined
    const { outside } = stateOf(cached)
    return outside && !counts(outside.outsider, nowMs) ? undefined : cached
  }

  /** The latest answer about a token of an outsider, until it expires; it may be time to ask again. */
  outsiderOf(token: string): Outsider | undefined {
    const caller = this.#cached(token)
    return caller && stateOf(caller).outside?.outsider
  }

  /** Remembers the caller of a token for which somebody vouches. */
  remember(token: string, { outsider, stored }: Outside): Caller {
    return this.#cache.add(token, stored, outsider)
  }

  /** The part of an outsider that is in memory, by another of its tokens: `undefined` if it has none, or is too old. */
  outsideOf(id: string): Outside | undefined {
    const isStale = this.#options.clock() - this.#watch.upToDateAtMs > longestStaleMs
    return isStale ? undefined : this.#cache.outsideOf(id)
  }

  /** The quotas of an outsider's tokens in memory, and that of its record. */
  outsideQuotasOf(id: string): ReadonlySet<string> {
    return this.#cache.outsideQuotasOf(id)
  }

  /** The caller of the same token as it is by now. Asking keeps it in memory, so that its changes are noticed. */
  async current(caller: Caller): Promise<LookUp> {
    const { token, outside } = stateOf(caller)
    const cached = this.#cached(token)
    if (cached || !outside) return cached ?? this.look(token)
    const { outsider } = outside
    if (!counts(outsider, this.#options.clock())) return 'unknown'
    try {
      const stored = await this.#options.store.get(caller.id)
      return stored ? this.#cache.add(token, stored, outsider) : 'unknown'
    } catch {
      return this.#unavailable()
    }
  }

  /** Whether a token may be in the store, by the filter alone. */
  mayExist(token: string): boolean {
    return this.#mayHave(hashOfName(token))
  }

  #mayHave(hash: string): boolean {
    return this.#hashes?.mayHave(hash) ?? true
  }

  /** Whether the filter rules a hash out and the watch has seen every change (it polls once to be sure). */
  #isDenied(hash: string): boolean {
    return this.#watch.isUpToDate?.() === true && !this.#mayHave(hash)
  }

  /** Looks a token up, in the store if the filter can't deny it. Simultaneous look-ups of a token share one question. */
  look(token: string): LookUp | Promise<LookUp> {
    const hash = hashOfName(token)
    if (this.#isDenied(hash)) return 'unknown'
    const pending = this.#pending.get(token)
    if (pending) return pending
    const answer = (stored: StoredKey | undefined): LookUp =>
      stored ? this.#cache.add(token, stored) : 'unknown'
    try {
      const stored = this.#options.store.find(hash)
      if (!(stored instanceof Promise)) return answer(stored)
      const result = stored.then(answer, () => this.#unavailable())
      this.#pending.set(token, result)
      return result.finally(() => this.#pending.delete(token))
    } catch {
      return this.#unavailable()
    }
  }

  #unavailable(): LookUp {
    const { meters } = this.#options
    if (meters) meters.storeErrors++
    return 'unavailable'
  }

  close(): void {
    this.#closed = true
    this.#watch.close()
  }

  #beginAnew(): void {
    this.#cache.clear()
    this.#hashes = undefined
    void this.#learnHashes()
  }

  #apply(keys: readonly StoredKey[]): void {
    for (const stored of keys) {
      this.#cache.update(stored)
      for (const { hash } of stored.key.secrets) {
        this.#hashes?.add(hash)
        this.#hashesMeanwhile?.push(hash)
      }
    }
    if (this.#hashes?.isFull && !this.#hashesMeanwhile) void this.#learnHashes()
  }

  /**
   * Reads all hashes into a new filter. Before the first one is complete every token may exist; later the old
   * filter serves until the larger one is complete.
   */
  async #learnHashes(): Promise<void> {
    const meanwhile: string[] = (this.#hashesMeanwhile = [])
    try {
      const hashes: string[] = []
      for await (const batch of this.#options.store.names()) {
        if (this.#closed) return
        for (const hash of batch) hashes.push(hash)
      }
      const filter = new BloomFilter(Math.max(8_192, hashes.length * 2))
      await addAll(filter, hashes)
      await addAll(filter, meanwhile)
      // A later reading, of a store that was emptied meanwhile, counts instead.
      if (this.#hashesMeanwhile !== meanwhile) return
      this.#hashes = filter
      this.#hashesMeanwhile = undefined
      if (filter.isFull) void this.#learnHashes()
    } catch {
      // The watch reports the outage. The filter only matters in floods, so it can wait.
      if (this.#closed || this.#hashesMeanwhile !== meanwhile) return
      setTimeout(() => void this.#learnHashes(), relearnMs).unref()
    }
  }
}

/** Adds hashes, and those that come meanwhile. Requests are served in between: a million take half a second in all. */
async function addAll(filter: BloomFilter, hashes: readonly string[]): Promise<void> {
  for (let i = 0; i < hashes.length; i++) {
    filter.add(hashes[i] ?? '')
    if (i % 250 === 249) await breathe()
  }
}
