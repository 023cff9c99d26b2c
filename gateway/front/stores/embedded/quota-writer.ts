import { breathe } from '../../../../shared/breathe.ts'
import type { Clock } from '../../../../shared/clock.ts'
import { isBusy, type Database } from '../../../../shared/sqlite.ts'
import { tellingTrouble } from '../../../../shared/trouble.ts'
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
export function quotaWriter(options: QuotaWriterOptions) {
  const { database, file, cache, clock, listeners, appliedSeq, isReader } = options
  const unsaved: CachedQuota[] = []
  let saving: Promise<void> | undefined
  let isMoving = false
  let moveAtMs = performance.now() + moveEveryMs
  const tell = tellingTrouble((cause) => listeners.forEach(({ trouble }) => trouble?.(cause)))
  // A lock isn't a failure.
  const onSaved = (error?: unknown): void => tell(isBusy(error) ? undefined : error)
  const write = (): void => void saveAndMove().then(onSaved, onSaved)
  const timer = isReader ? undefined : setInterval(write, saveEveryMs).unref()

  /** Saves, and from time to time moves the journal into the table. After a failure the next tick tries again. */
  async function saveAndMove(): Promise<void> {
    await save()
    if (isMoving || performance.now() < moveAtMs) return
    isMoving = true
    try {
      await moveJournal()
      moveAtMs = performance.now() + moveEveryMs
    } finally {
      isMoving = false
    }
  }

  /** A save that is under way writes also what is counted meanwhile. */
  function save(): Promise<void> {
    return (saving ??= saveAll().finally(() => (saving = undefined)))
  }

  async function saveAll(): Promise<void> {
    while (saveSome() && unsaved.length > 0) await breathe()
  }

  /** Writes some unsaved counters to the journal; `false` if there were none. */
  function saveSome(): boolean {
    if (isReader || unsaved.length === 0 || !database.open) return false
    const batch = unsaved.slice(-batchSize)
    const left = unsaved.length - batch.length
    const began = performance.now()
    // Commands count as applied only when all their changes are written.
    file.append(batch, left === 0 ? appliedSeq() : undefined)
    const milliseconds = performance.now() - began
    listeners.forEach(({ took }) => took?.(milliseconds))
    unsaved.length = left
    for (const cached of batch) {
      cached.isUnsaved = false
      cached.isJournaled = true
    }
    return true
  }

  /** Moves the journal into the table, bit by bit, in the order of the table. */
  async function moveJournal(): Promise<void> {
    const upTo = file.lastEntry()
    if (upTo > 0) {
      await cache.sort()
      for (let at = 0; at < Infinity && database.open;) {
        at = moveSome(at)
        await breathe()
      }
      while (database.open && file.forget(upTo, clock())) await breathe()
    }
    cache.evictIdle(clock())
  }

  /** Moves some journaled counters from an index on; returns the index to go on from, `Infinity` at the end. */
  function moveSome(from: number): number {
    const { all } = cache
    const batch: CachedQuota[] = []
    let at = from
    for (; at < all.length && batch.length < batchSize; at++) {
      const cached = all[at]
      if (cached?.isJournaled) batch.push(cached)
    }
    if (batch.length === 0) return Infinity
    file.moveToTable(batch)
    for (const cached of batch) cached.isJournaled = false
    return at
  }

  return {
    /** The quotas whose changes aren't in the file. */
    unsaved: unsaved as readonly CachedQuota[],

    /** Says that a quota has changed. */
    mark(quota: CachedQuota): void {
      if (quota.isUnsaved) return
      quota.isUnsaved = true
      unsaved.push(quota)
    },

    save,

    /** Writes all unsaved counters, even during a background save, and while the file is locked for some time. */
    async close(): Promise<void> {
      clearInterval(timer)
      if (isReader) return
      const giveUpAt = performance.now() + closeTimeoutMs
      for (let at = 0, isDone = false; !isDone;) {
        try {
          // Saved counters must be in the table before the journal is emptied.
          if (saveSome()) at = 0
          else if (at < Infinity) at = moveSome(at)
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
    },
  }
}
