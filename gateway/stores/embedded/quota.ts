import { breathe } from '../../../shared/breathe.ts'
import type { Clock } from '../../../shared/clock.ts'
import { isBusy, type Database } from '../../../shared/sqlite.ts'
import { giveBack, step, type Ask, type Decision, type QuotaState } from '../../limits/step.ts'
import { pollMs } from '../../keys/store.ts'
import type { Ban, BanListener, QuotaStore } from '../../limits/store.ts'
import { claim } from './claim.ts'
import { HeldQuotas, type Held } from './held.ts'
import { obey } from './orders.ts'
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
  readonly #held: HeldQuotas
  #unsaved: Held[] = []
  readonly #timers: NodeJS.Timeout[]
  readonly #listeners = new Set<BanListener>()
  readonly #file: QuotaFile
  readonly #claim: Database | undefined
  #fileVersion: unknown
  #doneSeq: number
  #saving = false
  #placing = false
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
    this.#held = new HeldQuotas(this.#file.read)
    this.#doneSeq = this.#file.doneSeq()
    // What a gateway that was killed has left in the journal.
    for (const [quota, state] of this.#file.journal())
      this.#held.add(quota, state).isJournaled = true
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

  decide(quota: string, ask: Ask): Decision {
    const { slot } = ask
    const held = slot ? this.#held.getVia(slot, quota) : this.#held.get(quota)
    const decision = step(held, ask, this.#clock())
    // Who only looks counts nothing, and leaves no row behind.
    const isLook = ask.cost === 0 && !ask.seen && !ask.owed
    if (!isLook && (decision.verdict !== 'banned' || decision.bans)) this.#changed(held)
    return decision
  }

  giveBack(quota: string, cost: number, day: number): void {
    const held = this.#held.get(quota)
    giveBack(held, cost, day)
    this.#changed(held)
  }

  async reset(quota: string): Promise<void> {
    await this.#order({ what: 'reset', quota, key: '', untilMs: 0 })
  }

  async ban(quota: string, key: string, untilMs: number): Promise<void> {
    await this.#order({ what: 'ban', quota, key, untilMs })
  }

  async lift(quota: string, key: string): Promise<boolean> {
    this.#follow()
    const state = this.#fresh().get(quota) ?? this.#held.get(quota)
    const ran = (state.conducts?.get(key)?.bannedUntilMs ?? 0) > this.#clock()
    await this.#order({ what: 'lift', quota, key, untilMs: 0 })
    return ran
  }

  /** Read bit by bit, because a gateway serves meanwhile: 100,000 quotas all at once took 700 ms. */
  async bans(): Promise<readonly Ban[]> {
    const now = this.#clock()
    this.#follow()
    const fresh = this.#fresh()
    const found = bansOf(fresh, now)
    for (let after: string | undefined = ''; after !== undefined && this.#database.open;) {
      const { entries, end } = this.#file.conducts(after)
      const others = entries.filter(([quota]) => !fresh.has(quota) && !this.#isFresher(quota))
      found.push(...bansOf(others, now))
      after = end
      await breathe()
    }
    return found
  }

  /** Quotas that the table doesn't have as they are: those in memory, and for a visitor those in the journal. */
  #fresh(): ReadonlyMap<string, QuotaState> {
    const fresh = new Map<string, QuotaState>(this.#visits ? this.#file.journal() : [])
    const held = this.#visits ? this.#unsaved : this.#held.all
    for (const each of held) if (each.conducts) fresh.set(each.quota, each)
    return fresh
  }

  /** Whether memory says more of a quota than the table, for instance that there is no ban any more. */
  #isFresher(quota: string): boolean {
    return !this.#visits && this.#held.has(quota)
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
      for (let at = 0, isDone = this.#visits; !isDone;) {
        try {
          // What is saved has to be put into its place before the journal is emptied.
          if (this.#saveSome()) at = 0
          else if (at < Infinity) at = this.#placeSome(at)
          else {
            this.#file.forget(this.#file.lastEntry(), this.#clock())
            isDone = true
          }
        } catch (error) {
          if (!isBusy(error) || performance.now() > giveUpAt) throw error
          // Meanwhile anything may have been saved or placed by what was under way.
          at = 0
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
    } finally {
      this.#claim?.close()
      this.#database.close()
    }
  }

  #changed(held: Held): void {
    if (held.isUnsaved) return
    held.isUnsaved = true
    this.#unsaved.push(held)
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
      const held = this.#held.get(order.quota)
      obey(held, order, this.#clock())
      this.#changed(held)
      this.#doneSeq = order.seq
    }
    if (orders.length > 0) this.#listeners.forEach(({ forgiven }) => forgiven())
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
    if (this.#placing || performance.now() < this.#placeAtMs) return
    this.#placing = true
    try {
      await this.#place()
      this.#placeAtMs = performance.now() + placeEveryMs
    } finally {
      this.#placing = false
    }
  }

  async #save(): Promise<void> {
    if (this.#saving) return
    this.#saving = true
    try {
      while (this.#saveSome() && this.#unsaved.length > 0) await breathe()
    } finally {
      this.#saving = false
    }
  }

  /** Writes some of what is unsaved to the journal; `false` if there was nothing. */
  #saveSome(): boolean {
    if (this.#visits || this.#unsaved.length === 0 || !this.#database.open) return false
    const batch = this.#unsaved.slice(-batchSize)
    const left = this.#unsaved.length - batch.length
    const began = performance.now()
    // Orders are done when all that they have changed is written, not sooner.
    this.#file.append(batch, left === 0 ? this.#doneSeq : undefined)
    const milliseconds = performance.now() - began
    this.#listeners.forEach(({ took }) => took?.(milliseconds))
    this.#unsaved.length = left
    for (const held of batch) {
      held.isUnsaved = false
      held.isJournaled = true
    }
    return true
  }

  /** Puts what the journal says in its place, bit by bit, in the order in which the table has it. */
  async #place(): Promise<void> {
    const upTo = this.#file.lastEntry()
    if (upTo > 0) {
      this.#held.sort()
      for (let at = 0; at < Infinity && this.#database.open;) {
        at = this.#placeSome(at)
        await breathe()
      }
      if (this.#database.open) this.#file.forget(upTo, this.#clock())
    }
    this.#held.tidy(this.#clock())
  }

  /** Writes some of what is in the journal to its place, from somewhere on; where to go on. */
  #placeSome(from: number): number {
    const { all } = this.#held
    const batch: Held[] = []
    let at = from
    for (; at < all.length && batch.length < batchSize; at++) {
      const held = all[at]
      if (held?.isJournaled) batch.push(held)
    }
    if (batch.length === 0) return Infinity
    this.#file.place(batch)
    for (const held of batch) held.isJournaled = false
    return at
  }
}

function bansOf(entries: Iterable<readonly [string, QuotaState]>, nowMs: number): Ban[] {
  const found: Ban[] = []
  for (const [quota, { conducts }] of entries) {
    for (const [key, { bannedUntilMs }] of conducts ?? []) {
      if (bannedUntilMs > nowMs) found.push({ key, quota, untilMs: bannedUntilMs })
    }
  }
  return found
}
