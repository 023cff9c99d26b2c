import { breathe } from '../../../../shared/breathe.ts'
import type { Clock } from '../../../../shared/clock.ts'
import { isBusy, type Database } from '../../../../shared/sqlite.ts'
import type { BanListener } from '../../limits/store.ts'
import type { CachedQuota, CachedQuotas } from './cached-quotas.ts'
import type { QuotaFile } from './quota-file.ts'

/** The time between two saves: a crash loses the counts since the last one. */
const saveEveryMs = 500

/** The longest that `close` waits for another process's lock on the file. */
const closeTimeoutMs = 5_000

/** The time between two moves of the journal into the table. */
const moveEveryMs = 10_000

/** Counters per write: the gateway serves requests between two writes. */
const batchSize = 250

export type QuotaWriterOptions = Readonly<{
  database: Database
  file: QuotaFile
  cache: CachedQuotas
  clock: Clock
  listeners: ReadonlySet<BanListener>
  /** The last command whose changes are in memory. */
  appliedSeq: () => number
  /** Whether nothing is written: a command line never overwrites a gateway's counters. */
  isReader: boolean
}>

/** Writes counters: changed ones to a journal, twice a second, and from time to time the journal into the table. */
export class QuotaWriter {
  readonly #options: QuotaWriterOptions
  readonly #unsaved: CachedQuota[] = []
  #saving: Promise<void> | undefined
  #isMoving = false
  #moveAtMs = performance.now() + moveEveryMs
  #isFailing = false
  readonly #timer: NodeJS.Timeout | undefined

  constructor(options: QuotaWriterOptions) {
    this.#options = options
    if (options.isReader) return
    const write = (): void => void this.#write().then(this.#onSaved, this.#onSaved)
    this.#timer = setInterval(write, saveEveryMs).unref()
  }

  /** The quotas whose changes aren't in the file. */
  get unsaved(): readonly CachedQuota[] {
    return this.#unsaved
  }

  /** Says that a quota has changed. */
  mark(quota: CachedQuota): void {
    if (quota.isUnsaved) return
    quota.isUnsaved = true
    this.#unsaved.push(quota)
  }

  /** A save that is under way writes also what is counted meanwhile. */
  save(): Promise<void> {
    return (this.#saving ??= this.#saveAll().finally(() => (this.#saving = undefined)))
  }

  /** Writes all unsaved counters, even during a background save, and while the file is locked for some time. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#options.isReader) return
    const { file, clock } = this.#options
    const giveUpAt = performance.now() + closeTimeoutMs
    for (let at = 0, isDone = false; !isDone;) {
      try {
        // Saved counters must be in the table before the journal is emptied.
        if (this.#saveSome()) at = 0
        else if (at < Infinity) at = this.#moveSome(at)
        else {
          file.forget(file.lastEntry(), clock())
          isDone = true
        }
      } catch (error) {
        if (!isBusy(error) || performance.now() > giveUpAt) throw error
        // A background save or move may have gone on meanwhile: begin again.
        at = 0
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  /** Reports once when writing begins to fail, and once when it works again. A lock isn't a failure. */
  readonly #onSaved = (error?: unknown): void => {
    const isFailing = error !== undefined && !isBusy(error)
    if (isFailing === this.#isFailing) return
    this.#isFailing = isFailing
    const cause = isFailing ? (error as Error) : undefined
    this.#options.listeners.forEach(({ trouble }) => trouble?.(cause))
  }

  /** Saves, and from time to time moves the journal into the table. After a failure the next tick tries again. */
  async #write(): Promise<void> {
    await this.save()
    if (this.#isMoving || performance.now() < this.#moveAtMs) return
    this.#isMoving = true
    try {
      await this.#moveJournal()
      this.#moveAtMs = performance.now() + moveEveryMs
    } finally {
      this.#isMoving = false
    }
  }

  async #saveAll(): Promise<void> {
    while (this.#saveSome() && this.#unsaved.length > 0) await breathe()
  }

  /** Writes some unsaved counters to the journal; `false` if there were none. */
  #saveSome(): boolean {
    if (this.#options.isReader || this.#unsaved.length === 0 || !this.#options.database.open)
      return false
    const batch = this.#unsaved.slice(-batchSize)
    const left = this.#unsaved.length - batch.length
    const began = performance.now()
    // Commands count as applied only when all their changes are written.
    this.#options.file.append(batch, left === 0 ? this.#options.appliedSeq() : undefined)
    const milliseconds = performance.now() - began
    this.#options.listeners.forEach(({ took }) => took?.(milliseconds))
    this.#unsaved.length = left
    for (const cached of batch) {
      cached.isUnsaved = false
      cached.isJournaled = true
    }
    return true
  }

  /** Moves the journal into the table, bit by bit, in the order of the table. */
  async #moveJournal(): Promise<void> {
    const upTo = this.#options.file.lastEntry()
    if (upTo > 0) {
      await this.#options.cache.sort()
      for (let at = 0; at < Infinity && this.#options.database.open;) {
        at = this.#moveSome(at)
        await breathe()
      }
      const { database, file, clock } = this.#options
      while (database.open && file.forget(upTo, clock())) await breathe()
    }
    this.#options.cache.evictIdle(this.#options.clock())
  }

  /** Moves some journaled counters from an index on; returns the index to go on from, `Infinity` at the end. */
  #moveSome(from: number): number {
    const { all } = this.#options.cache
    const batch: CachedQuota[] = []
    let at = from
    for (; at < all.length && batch.length < batchSize; at++) {
      const cached = all[at]
      if (cached?.isJournaled) batch.push(cached)
    }
    if (batch.length === 0) return Infinity
    this.#options.file.moveToTable(batch)
    for (const cached of batch) cached.isJournaled = false
    return at
  }
}
