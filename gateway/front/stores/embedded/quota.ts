import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import type { Adjustment, Counters } from '../../limits/counters.ts'
import { mostGrants, runsAt, type Grant, type NewGrant } from '../../limits/grants.ts'
import { adjust, type Admission, type QuotaState } from '../../limits/quota-state.ts'
import { leftIn, newPurse } from '../../limits/purse.ts'
import { topUpsOf, type NewTopUp, type TopUp, type TopUpOutcome } from '../../limits/top-ups.ts'
import { neededBy, step, type Ask, type Decision } from '../../limits/step.ts'
import { pollMs } from '../../keys/store.ts'
import type { QuotaPoints } from '../../limits/past-points.ts'
import { takenIn, tellPlaces, type TakenPlaces } from '../../limits/places.ts'
import type { Ban, BanListener, PlaceReport, QuotaStore } from '../../limits/store.ts'
import { answerOf, unavailable } from './answer.ts'
import { claim } from './claim.ts'
import { CachedQuotas } from './cached-quotas.ts'
import { applyCommand } from './apply-command.ts'
import { quotaFile, type OperatorCommand, type QuotaFile } from './quota-file.ts'
import { bansIn, pointsIn, type Table } from './quota-reports.ts'
import { QuotaWriter } from './quota-writer.ts'

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
  readonly #polling: NodeJS.Timeout | undefined
  readonly #listeners = new Set<BanListener>()
  readonly #file: QuotaFile
  readonly #table: Table
  readonly #writer: QuotaWriter
  readonly #claim: Database | undefined
  #fileVersion: unknown
  #appliedSeq: number

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
    this.#table = { file: this.#file, isOpen: () => database.open }
    this.#writer = new QuotaWriter({
      database,
      file: this.#file,
      cache: this.#cache,
      clock,
      listeners: this.#listeners,
      appliedSeq: () => this.#appliedSeq,
      isReader: forCommandLine,
    })
    if (!forCommandLine) this.#polling = setInterval(() => this.#poll(), pollMs).unref()
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
    const isLook = neededBy(ask) === 0 && !ask.seen && !ask.owed
    if (!isLook && (decision.verdict !== 'banned' || decision.bans)) this.#writer.mark(cached)
    return decision
  }

  adjust(quota: string, adjustment: Adjustment, admission: Admission): Counters {
    const cached = this.#cache.get(quota)
    adjust(cached, adjustment, admission, this.#clock())
    this.#writer.mark(cached)
    return cached
  }

  tellPlaces(reports: readonly PlaceReport[]): Promise<void> {
    for (const { quota, told } of reports) tellPlaces(this.#cache.get(quota), told, this.#clock())
    return Promise.resolve()
  }

  places(quota: string): Promise<readonly TakenPlaces[]> {
    return Promise.resolve(takenIn(this.#cache.get(quota).places))
  }

  async freePlaces(quota: string): Promise<void> {
    await this.#run({ what: 'places', quota, key: '', untilMs: 0 })
  }

  async reset(quota: string): Promise<void> {
    await this.#run({ what: 'reset', quota, key: '', untilMs: 0 })
  }

  async setMonthFrom(quota: string, monthFrom: number): Promise<void> {
    await this.#run({ what: 'month', quota, key: '', untilMs: monthFrom })
  }

  async ban(quota: string, key: string, untilMs: number): Promise<void> {
    await this.#run({ what: 'ban', quota, key, untilMs })
  }

  async grant(quota: string, grant: NewGrant): Promise<boolean> {
    const nowMs = this.#clock()
    const { monthFrom } = this.#cache.get(quota)
    const running = (await this.grants(quota)).filter((each) => runsAt(each, nowMs, monthFrom))
    if (running.length >= mostGrants) return false
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

  async topUp(quota: string, topUp: NewTopUp): Promise<TopUpOutcome> {
    return this.#change(() => {
      this.#applyCommands()
      const left = leftIn(this.#cache.get(quota).purse ?? newPurse())
      return this.#file.topUp(quota, topUp, left, this.#clock())
    })
  }

  topUps(quota: string): Promise<readonly TopUp[]> {
    return Promise.resolve(answerOf(() => topUpsOf(this.#file.topUps(quota))))
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

  async bans(): Promise<readonly Ban[]> {
    const nowMs = this.#clock()
    const newer = answerOf(() => {
      this.#applyCommands()
      return this.#newerThanTable()
    })
    return bansIn(this.#table, newer, (quota) => this.#isInMemory(quota), nowMs)
  }

  async *points(day: number): AsyncGenerator<readonly QuotaPoints[]> {
    answerOf(() => this.#applyCommands())
    yield* pointsIn(this.#table, this.#cache, day)
  }

  /** Quotas with bans or strikes that are newer than the table: those in memory, or in the journal for a command line. */
  #newerThanTable(): ReadonlyMap<string, QuotaState> {
    const newer = new Map<string, QuotaState>(this.#forCommandLine ? this.#file.journal() : [])
    const quotas = this.#forCommandLine ? this.#writer.unsaved : this.#cache.all
    for (const each of quotas) if (each.conducts) newer.set(each.quota, each)
    return newer
  }

  /** Whether memory has a quota, and so is right about it, for instance about a ban that was lifted. */
  #isInMemory(quota: string): boolean {
    return !this.#forCommandLine && this.#cache.has(quota)
  }

  async flush(): Promise<void> {
    try {
      await this.#writer.save()
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
    clearInterval(this.#polling)
    try {
      await this.#writer.close()
    } finally {
      this.#claim?.close()
      this.#database.close()
    }
  }

  async #run(command: Omit<OperatorCommand, 'seq' | 'atMs'>): Promise<void> {
    await this.#change(() => this.#file.enqueue(command, this.#clock()))
  }

  /** Enqueues a command, applies it, and saves the counters. */
  async #change<Result>(enqueue: () => Result): Promise<Result> {
    try {
      const result = enqueue()
      this.#applyCommands()
      await this.#writer.save()
      return result
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
      this.#writer.mark(cached)
      this.#appliedSeq = command.seq
    }
    if (commands.length === 0) return
    for (const { forgiven, banned } of this.#listeners) {
      forgiven()
      for (const { what, ...ban } of commands) if (what === 'ban') banned(ban)
    }
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
}
