import { breathe } from '../../../shared/breathe.ts'
import type { Clock } from '../../../shared/clock.ts'
import { isBusy, type Database } from '../../../shared/sqlite.ts'
import { mostGrants, type Grant, type NewGrant } from '../../limits/grants.ts'
import {
  dayMs,
  giveBack,
  step,
  type Ask,
  type Decision,
  type QuotaState,
} from '../../limits/step.ts'
import { pollMs } from '../../keys/store.ts'
import { pointsOn } from '../../limits/past-points.ts'
import type { Ban, BanListener, QuotaPoints, QuotaStore } from '../../limits/store.ts'
import { answerOf, unavailable } from './answer.ts'
import { claim } from './claim.ts'
import { CachedQuotas, type CachedQuota } from './cached-quotas.ts'
import { applyCommand } from './apply-command.ts'
import { quotaFile, stateFrom, type OperatorCommand, type QuotaFile } from './quota-file.ts'

/** The time between two saves: a crash loses the counts since the last one. */
const saveEveryMs = 500

/** The longest that `close` waits for another process's lock on the file. */
const closeTimeoutMs = 5_000

/** The time between two moves of the journal into the table. */
const moveEveryMs = 10_000

/** Counters per write: the gateway serves requests between two writes. */
const batchSize = 250

/** Quotas in memory whose points are told in one turn of the loop. */
const pointsAtOnce = 2_000

/** The size of the WAL at which SQLite makes a checkpoint, in pages of 4 KiB. */
const checkpointPages = 4_000

export type EmbeddedOptions = Readonly<{
  clock?: Clock
  /** Opens them for a command line, which reads, enqueues commands, and never overwrites a gateway's counters. */
  forCommandLine?: boolean
}>

/**
 * Counts in memory, and saves the counters in a SQLite file, so that a restart forgets nothing. One gateway
 * counts. Command lines enqueue their commands in the file, and the gateway applies them.
 */
export class EmbeddedQuotas implements QuotaStore {
  readonly isLocal = true
  readonly #database: Database
  readonly #clock: Clock
  readonly #forCommandLine: boolean
  readonly #cache: CachedQuotas
  #unsaved: CachedQuota[] = []
  readonly #timers: NodeJS.Timeout[]
  readonly #listeners = new Set<BanListener>()
  readonly #file: QuotaFile
  readonly #claim: Database | undefined
  #fileVersion: unknown
  #appliedSeq: number
  #saving: Promise<void> | undefined
  #isMoving = false
  #moveAtMs = performance.now() + moveEveryMs
  #isFailing = false

  constructor(
    database: Database,
    { clock = Date.now, forCommandLine = false }: EmbeddedOptions = {},
  ) {
    this.#database = database
    this.#clock = clock
    this.#forCommandLine = forCommandLine
    // A crash of the process loses nothing that was written; a power cut may lose a second of it.
    database.pragma('synchronous = NORMAL')
    database.pragma(`wal_autocheckpoint = ${checkpointPages}`)
    this.#claim = forCommandLine ? undefined : claim(database)
    this.#file = quotaFile(database)
    this.#cache = new CachedQuotas((quota) => answerOf(() => this.#file.read(quota)))
    this.#appliedSeq = this.#file.appliedSeq()
    // The journal that a killed gateway left.
    for (const [quota, state] of this.#file.journal())
      this.#cache.add(quota, state).isJournaled = true
    this.#timers = forCommandLine
      ? []
      : [
          setInterval(() => void this.#write().then(this.#onSaved, this.#onSaved), saveEveryMs),
          setInterval(() => this.#poll(), pollMs),
        ]
    for (const timer of this.#timers) timer.unref()
    this.#applyCommands()
  }

  /** Whether no other gateway counts in the same file; each would count by itself. */
  get isSoleGateway(): boolean {
    return this.#forCommandLine || this.#claim !== undefined
  }

  decide(quota: string, ask: Ask): Decision {
    const { slot } = ask
    const cached = slot ? this.#cache.getVia(slot, quota) : this.#cache.get(quota)
    const decision = step(cached, ask, this.#clock())
    // A question of cost 0 counts nothing, and must not create a row.
    const isLook = ask.cost === 0 && !ask.seen && !ask.owed
    if (!isLook && (decision.verdict !== 'banned' || decision.bans)) this.#markUnsaved(cached)
    return decision
  }

  giveBack(quota: string, cost: number, day: number): void {
    const cached = this.#cache.get(quota)
    giveBack(cached, cost, day)
    this.#markUnsaved(cached)
  }

  async reset(quota: string): Promise<void> {
    await this.#run({ what: 'reset', quota, key: '', untilMs: 0 })
  }

  async ban(quota: string, key: string, untilMs: number): Promise<void> {
    await this.#run({ what: 'ban', quota, key, untilMs })
  }

  async grant(quota: string, grant: NewGrant): Promise<boolean> {
    const nowMs = this.#clock()
    const today = Math.floor(nowMs / dayMs)
    const before = await this.grants(quota)
    if (before.filter(({ day }) => day === today).length >= mostGrants) return false
    await this.#run({ what: 'grant', quota, key: JSON.stringify(grant), untilMs: nowMs })
    return true
  }

  grants(quota: string): Promise<readonly Grant[]> {
    return Promise.resolve(
      answerOf(() => {
        this.#applyCommands()
        return this.#cache.get(quota).grants?.each ?? []
      }),
    )
  }

  async lift(quota: string, key: string): Promise<boolean> {
    const state = answerOf(() => {
      this.#applyCommands()
      return this.#newerThanTable().get(quota) ?? this.#cache.get(quota)
    })
    const ran = (state.conducts?.get(key)?.bannedUntilMs ?? 0) > this.#clock()
    await this.#run({ what: 'lift', quota, key, untilMs: 0 })
    return ran
  }

  /** Reads bit by bit, because a gateway serves meanwhile: 100,000 quotas at once took 700 ms. */
  async bans(): Promise<readonly Ban[]> {
    const now = this.#clock()
    const newer = answerOf(() => {
      this.#applyCommands()
      return this.#newerThanTable()
    })
    const bans = bansOf(newer, now)
    for (let after: string | undefined = ''; after !== undefined && this.#database.open;) {
      const from: string = after
      const { entries, end } = answerOf(() => this.#file.conducts(from))
      const others = entries.filter(([quota]) => !newer.has(quota) && !this.#isInMemory(quota))
      bans.push(...bansOf(others, now))
      after = end
      await breathe()
    }
    return bans
  }

  /** First what memory has, then bit by bit the rows of the table; of a quota in both, memory is right. */
  async *points(day: number): AsyncGenerator<readonly QuotaPoints[]> {
    answerOf(() => this.#applyCommands())
    const all = [...this.#cache.all]
    for (let start = 0; start < all.length; start += pointsAtOnce) {
      yield withPointsOn(day, all.slice(start, start + pointsAtOnce))
      await breathe()
    }
    for (let after: string | undefined = ''; after !== undefined && this.#database.open;) {
      const from: string = after
      const rows = answerOf(() => this.#file.page(from))
      yield withPointsOn(
        day,
        rows.flatMap(({ quota, state: text }) => {
          const state = this.#cache.inMemory(quota) ?? stateFrom(text)
          return state ? [{ ...state, quota }] : []
        }),
      )
      after = rows.at(-1)?.quota
      await breathe()
    }
  }

  /** Quotas with bans or strikes that are newer than the table: those in memory, or in the journal for a command line. */
  #newerThanTable(): ReadonlyMap<string, QuotaState> {
    const newer = new Map<string, QuotaState>(this.#forCommandLine ? this.#file.journal() : [])
    const quotas = this.#forCommandLine ? this.#unsaved : this.#cache.all
    for (const each of quotas) if (each.conducts) newer.set(each.quota, each)
    return newer
  }

  /** Whether memory has a quota, and so is right about it, for instance about a ban that was lifted. */
  #isInMemory(quota: string): boolean {
    return !this.#forCommandLine && this.#cache.has(quota)
  }

  async flush(): Promise<void> {
    try {
      await this.#save()
    } catch (error) {
      throw unavailable(error)
    }
  }

  watch(listener: BanListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Writes all unsaved counters, even during a background save, and while the file is locked for some time. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    const giveUpAt = performance.now() + closeTimeoutMs
    try {
      for (let at = 0, isDone = this.#forCommandLine; !isDone;) {
        try {
          // Saved counters must be in the table before the journal is emptied.
          if (this.#saveSome()) at = 0
          else if (at < Infinity) at = this.#moveSome(at)
          else {
            this.#file.forget(this.#file.lastEntry(), this.#clock())
            isDone = true
          }
        } catch (error) {
          if (!isBusy(error) || performance.now() > giveUpAt) throw error
          // A background save or move may have gone on meanwhile: begin again.
          at = 0
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
    } finally {
      this.#claim?.close()
      this.#database.close()
    }
  }

  #markUnsaved(quota: CachedQuota): void {
    if (quota.isUnsaved) return
    quota.isUnsaved = true
    this.#unsaved.push(quota)
  }

  async #run(command: Omit<OperatorCommand, 'seq'>): Promise<void> {
    try {
      this.#file.enqueue(command, this.#clock())
      this.#applyCommands()
      await this.#save()
    } catch (error) {
      throw unavailable(error)
    }
  }

  /** Applies the commands since the last time. Several processes may apply the same one, with the same result. */
  #applyCommands(): void {
    const commands = this.#file.commandsSince(this.#appliedSeq)
    for (const command of commands) {
      const cached = this.#cache.get(command.quota)
      applyCommand(cached, command, this.#clock())
      this.#markUnsaved(cached)
      this.#appliedSeq = command.seq
    }
    if (commands.length > 0) this.#listeners.forEach(({ forgiven }) => forgiven())
  }

  #poll(): void {
    try {
      const version = this.#file.version()
      if (version !== this.#fileVersion) this.#applyCommands()
      this.#fileVersion = version
    } catch {
      // The next tick tries again.
    }
  }

  /** Reports once when writing begins to fail, and once when it works again. A lock isn't a failure. */
  readonly #onSaved = (error?: unknown): void => {
    const isFailing = error !== undefined && !isBusy(error)
    if (isFailing === this.#isFailing) return
    this.#isFailing = isFailing
    const cause = isFailing ? (error as Error) : undefined
    this.#listeners.forEach(({ trouble }) => trouble?.(cause))
  }

  /** Saves, and from time to time moves the journal into the table. After a failure the next tick tries again. */
  async #write(): Promise<void> {
    await this.#save()
    if (this.#isMoving || performance.now() < this.#moveAtMs) return
    this.#isMoving = true
    try {
      await this.#moveJournal()
      this.#moveAtMs = performance.now() + moveEveryMs
    } finally {
      this.#isMoving = false
    }
  }

  /** A save that is under way writes also what is counted meanwhile. */
  #save(): Promise<void> {
    return (this.#saving ??= this.#saveAll().finally(() => (this.#saving = undefined)))
  }

  async #saveAll(): Promise<void> {
    while (this.#saveSome() && this.#unsaved.length > 0) await breathe()
  }

  /** Writes some unsaved counters to the journal; `false` if there were none. */
  #saveSome(): boolean {
    if (this.#forCommandLine || this.#unsaved.length === 0 || !this.#database.open) return false
    const batch = this.#unsaved.slice(-batchSize)
    const left = this.#unsaved.length - batch.length
    const began = performance.now()
    // Commands count as applied only when all their changes are written.
    this.#file.append(batch, left === 0 ? this.#appliedSeq : undefined)
    const milliseconds = performance.now() - began
    this.#listeners.forEach(({ took }) => took?.(milliseconds))
    this.#unsaved.length = left
    for (const cached of batch) {
      cached.isUnsaved = false
      cached.isJournaled = true
    }
    return true
  }

  /** Moves the journal into the table, bit by bit, in the order of the table. */
  async #moveJournal(): Promise<void> {
    const upTo = this.#file.lastEntry()
    if (upTo > 0) {
      await this.#cache.sort()
      for (let at = 0; at < Infinity && this.#database.open;) {
        at = this.#moveSome(at)
        await breathe()
      }
      if (this.#database.open) this.#file.forget(upTo, this.#clock())
    }
    this.#cache.evictIdle(this.#clock())
  }

  /** Moves some journaled counters from an index on; returns the index to go on from, `Infinity` at the end. */
  #moveSome(from: number): number {
    const { all } = this.#cache
    const batch: CachedQuota[] = []
    let at = from
    for (; at < all.length && batch.length < batchSize; at++) {
      const cached = all[at]
      if (cached?.isJournaled) batch.push(cached)
    }
    if (batch.length === 0) return Infinity
    this.#file.moveToTable(batch)
    for (const cached of batch) cached.isJournaled = false
    return at
  }
}

function withPointsOn(
  day: number,
  states: readonly (QuotaState & Readonly<{ quota: string }>)[],
): QuotaPoints[] {
  return states.flatMap((state) => {
    const points = pointsOn(state, day)
    return points > 0 ? [{ quota: state.quota, points }] : []
  })
}

function bansOf(entries: Iterable<readonly [string, QuotaState]>, nowMs: number): Ban[] {
  const bans: Ban[] = []
  for (const [quota, { conducts }] of entries) {
    for (const [key, { bannedUntilMs }] of conducts ?? []) {
      if (bannedUntilMs > nowMs) bans.push({ key, quota, untilMs: bannedUntilMs })
    }
  }
  return bans
}
