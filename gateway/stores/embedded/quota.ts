import type { Clock } from '../../../shared/clock.ts'
import { isBusy, type Database } from '../../../shared/sqlite.ts'
import { BoundedMap } from '../../bounded-map.ts'
import {
  giveBack,
  newConduct,
  newQuota,
  step,
  type Conduct,
  type QuotaState,
} from '../../limits/step.ts'
import { pollMs } from '../keys.ts'
import type { Ban, BanListener, QuotaStore } from '../quota.ts'
import { claim } from './claim.ts'
import { quotaFile, type Order, type QuotaFile } from './quota-file.ts'

/** How often what was counted is written down: a crash loses at most that much and a little. */
const saveEveryMs = 500

/** How long a stop may wait for another process that has the file locked. */
const closeTimeoutMs = 5_000

/** How often what the journal says is put in its place. */
const placeEveryMs = 10_000

/** Counters that are written in one go, so that requests are served in between. */
const batchSize = 250

/** How much the journal may hold up before SQLite tidies up after it, in pages of 4 KiB. */
const checkpointPages = 4_000

/** How many quotas are held in memory; others are read again when they are asked for. */
const mostInMemory = 100_000

export type EmbeddedOptions = Readonly<{
  clock?: Clock
  /** For a command line: it looks and leaves orders, and writes no counters over those of a gateway. */
  visits?: boolean
}>

/**
 * Counts in memory, and in a SQLite file behind it so that a restart forgets nothing. One gateway
 * counts; command lines beside it leave their orders in the file, and it follows them.
 */
export class EmbeddedQuotas implements QuotaStore {
  readonly isLocal = true
  readonly gateways = 1
  readonly #database: Database
  readonly #clock: Clock
  readonly #visits: boolean
  readonly #memory = new BoundedMap<QuotaState>(mostInMemory)
  /** What is not in the file yet, what is in its journal, and what is on its way from there to its place. */
  readonly #unsaved = new Map<string, QuotaState>()
  #journaled = new Map<string, QuotaState>()
  #moving = new Map<string, QuotaState>()
  readonly #timers: NodeJS.Timeout[]
  readonly #listeners = new Set<BanListener>()
  readonly #file: QuotaFile
  readonly #claim: Database | undefined
  #fileVersion: unknown
  #doneSeq: number
  #saving = false
  #placeAtMs = performance.now() + placeEveryMs
  #isFailing = false

  constructor(database: Database, { clock = Date.now, visits = false }: EmbeddedOptions = {}) {
    this.#database = database
    this.#clock = clock
    this.#visits = visits
    // A crash of the process loses nothing that was written; only a power cut might, a second of it.
    database.pragma('synchronous = NORMAL')
    database.pragma(`wal_autocheckpoint = ${checkpointPages}`)
    this.#claim = visits ? undefined : claim(database)
    this.#file = quotaFile(database)
    this.#doneSeq = this.#file.doneSeq()
    // What a gateway that was killed has left in the journal.
    this.#journaled = this.#file.journal()
    this.#timers = visits
      ? []
      : [
          setInterval(() => void this.#write().then(this.#saved, this.#saved), saveEveryMs),
          setInterval(() => this.#look(), pollMs),
        ]
    for (const timer of this.#timers) timer.unref()
    this.#follow()
  }

  /** Whether no other process counts in the same file, which would count by itself. */
  get isAlone(): boolean {
    return this.#visits || this.#claim !== undefined
  }

  decide(quota: string, ask: Parameters<QuotaStore['decide']>[1]) {
    const state = this.#state(quota)
    const decision = step(state, ask, this.#clock())
    if (decision.verdict !== 'banned' || decision.bans) this.#unsaved.set(quota, state)
    return decision
  }

  giveBack(quota: string, cost: number, day: number): void {
    const state = this.#state(quota)
    giveBack(state, cost, day)
    this.#unsaved.set(quota, state)
  }

  async reset(quota: string): Promise<void> {
    await this.#order({ what: 'reset', quota, key: '', untilMs: 0 })
  }

  async ban(quota: string, key: string, untilMs: number): Promise<void> {
    await this.#order({ what: 'ban', quota, key, untilMs })
  }

  async lift(quota: string, key: string): Promise<boolean> {
    const ran = (await this.bans()).some((ban) => ban.key === key)
    await this.#order({ what: 'lift', quota, key, untilMs: 0 })
    return ran
  }

  bans(): Promise<readonly Ban[]> {
    const now = this.#clock()
    this.#follow()
    const states = new Map(this.#file.all())
    const journaled = this.#visits ? this.#file.journal() : this.#journaled
    for (const later of [this.#moving, journaled, this.#unsaved]) {
      for (const [quota, state] of later) states.set(quota, state)
    }
    const found: Ban[] = []
    for (const [quota, { conducts }] of states) {
      for (const [key, { bannedUntilMs }] of conducts ?? []) {
        if (bannedUntilMs > now) found.push({ key, quota, untilMs: bannedUntilMs })
      }
    }
    return Promise.resolve(found)
  }

  watch(listener: BanListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Writes all that is unsaved, even if a slower saving is under way or the file is locked a while. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    const giveUpAt = performance.now() + closeTimeoutMs
    try {
      for (let more = true; more;) {
        try {
          more =
            this.#saveBatch() || this.#placeBatch(this.#moving) || this.#placeBatch(this.#journaled)
          if (!more && !this.#visits) this.#file.forget(this.#file.lastEntry(), this.#clock())
        } catch (error) {
          if (!isBusy(error) || performance.now() > giveUpAt) throw error
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
    } finally {
      this.#claim?.close()
      this.#database.close()
    }
  }

  #state(quota: string): QuotaState {
    const known = this.#memory.get(quota)
    if (known) return known
    const written =
      this.#unsaved.get(quota) ?? this.#journaled.get(quota) ?? this.#moving.get(quota)
    const state = written ?? this.#file.read(quota) ?? newQuota()
    this.#memory.set(quota, state)
    return state
  }

  async #order(order: Omit<Order, 'seq'>): Promise<void> {
    this.#file.leave(order, this.#clock())
    this.#follow()
    await this.#save()
  }

  /** Does what was ordered since; several processes may do the same, to the same end. */
  #follow(): void {
    const orders = this.#file.ordersSince(this.#doneSeq)
    for (const order of orders) {
      this.#obey(order)
      this.#doneSeq = order.seq
    }
    if (orders.length > 0) this.#listeners.forEach(({ forgiven }) => forgiven())
  }

  #obey({ what, quota, key, untilMs }: Order): void {
    const state = this.#state(quota)
    state.generation = Math.max(state.generation + 1, this.#clock())
    if (what === 'reset') {
      state.minuteUsed = 0
      state.dayUsed = 0
      state.dayGivenBack = 0
    } else if (what === 'ban') {
      const conduct = state.conducts?.get(key) ?? newConduct()
      const banned = { ...conduct, bannedUntilMs: untilMs, refusedAtMs: 0, strikesMs: [] }
      state.conducts = (state.conducts ?? new Map<string, Conduct>()).set(key, banned)
    } else {
      state.conducts?.delete(key)
    }
    this.#unsaved.set(quota, state)
  }

  #look(): void {
    try {
      const version = this.#file.version()
      if (version !== this.#fileVersion) this.#follow()
      this.#fileVersion = version
    } catch {
      // A file that can't be read at the moment is looked at again at the next tick.
    }
  }

  /** Tells once when writing begins to fail, and once when it works again; busy is not failing. */
  readonly #saved = (error?: unknown): void => {
    const isFailing = error !== undefined && !isBusy(error)
    if (isFailing === this.#isFailing) return
    this.#isFailing = isFailing
    const cause = isFailing ? (error as Error) : undefined
    this.#listeners.forEach(({ trouble }) => trouble?.(cause))
  }

  /** Saves, and now and then puts in place what was saved; where that fails, again at the next tick. */
  async #write(): Promise<void> {
    await this.#save()
    if (performance.now() < this.#placeAtMs) return
    await this.#place()
    this.#placeAtMs = performance.now() + placeEveryMs
  }

  async #save(): Promise<void> {
    if (this.#saving) return
    this.#saving = true
    try {
      while (this.#saveBatch()) await new Promise((resolve) => setImmediate(resolve))
    } finally {
      this.#saving = false
    }
  }

  /** Writes some of what is unsaved to the journal; whether there is more. */
  #saveBatch(): boolean {
    if (this.#visits || this.#unsaved.size === 0 || !this.#database.open) return false
    const batch: [string, QuotaState][] = []
    for (const entry of this.#unsaved) if (batch.push(entry) === batchSize) break
    const all = batch.length === this.#unsaved.size
    const began = performance.now()
    // Orders are done when all that they have changed is written, not sooner.
    this.#file.append(batch, all ? this.#doneSeq : undefined)
    const milliseconds = performance.now() - began
    this.#listeners.forEach(({ took }) => took?.(milliseconds))
    for (const [quota, state] of batch) {
      this.#unsaved.delete(quota)
      this.#journaled.set(quota, state)
    }
    return !all
  }

  /** Puts what the journal says in its place, bit by bit, in the order in which the table has it. */
  async #place(): Promise<void> {
    if (this.#moving.size > 0 || this.#journaled.size === 0) return
    const upTo = this.#file.lastEntry()
    const sorted = [...this.#journaled].sort(([a], [b]) => (a < b ? -1 : 1))
    this.#moving = new Map(sorted)
    this.#journaled = new Map()
    try {
      while (this.#placeBatch(this.#moving)) await new Promise((go) => void setImmediate(go))
      if (this.#database.open) this.#file.forget(upTo, this.#clock())
    } finally {
      // What could not be placed is in the journal still.
      for (const [quota, state] of this.#moving) {
        if (!this.#journaled.has(quota)) this.#journaled.set(quota, state)
      }
      this.#moving = new Map()
    }
  }

  /** Writes some of what is in the journal to its place; whether there is more. */
  #placeBatch(states: Map<string, QuotaState>): boolean {
    if (this.#visits || states.size === 0 || !this.#database.open) return false
    const batch: [string, QuotaState][] = []
    for (const entry of states) if (batch.push(entry) === batchSize) break
    this.#file.place(batch)
    for (const [quota] of batch) states.delete(quota)
    return states.size > 0
  }
}
