import type { Clock } from '../../../shared/clock.ts'
import type { Database } from '../../../shared/sqlite.ts'
import { BoundedMap } from '../../bounded-map.ts'
import {
  dayMs,
  giveBack,
  newConduct,
  newQuota,
  step,
  type Conduct,
  type QuotaState,
} from '../../limits/step.ts'
import { pollMs } from '../keys.ts'
import type { Ban, BanListener, QuotaStore } from '../quota.ts'

/** How often what was counted is written down: a crash loses at most that much and a little. */
const saveEveryMs = 500

/** Rows that are written in one go, so that requests are served in between. */
const batchSize = 250

/** How many quotas are held in memory; others are read again when they are asked for. */
const mostInMemory = 100_000

/** How long an order of an operator is kept for a gateway that doesn't run. */
const orderMs = 7 * dayMs

/** What is kept of bans that have ended, so that the next one can follow on. */
const rememberedMs = 2 * dayMs

type Saved = Omit<QuotaState, 'conducts'> & { conducts: [string, Conduct][] }

/** What a command line asks the gateway that has the counters in memory to do. */
type Order = {
  seq: number
  what: 'reset' | 'ban' | 'lift'
  quota: string
  key: string
  untilMs: number
}

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
  readonly #database: Database
  readonly #clock: Clock
  readonly #visits: boolean
  readonly #memory = new BoundedMap<QuotaState>(mostInMemory)
  readonly #unsaved = new Map<string, QuotaState>()
  readonly #timers: NodeJS.Timeout[]
  readonly #listeners = new Set<BanListener>()
  readonly #sql: ReturnType<typeof statements>
  #fileVersion: unknown
  #doneSeq: number
  #saving = false

  constructor(database: Database, { clock = Date.now, visits = false }: EmbeddedOptions = {}) {
    this.#database = database
    this.#clock = clock
    this.#visits = visits
    // A crash of the process loses nothing that was written; only a power cut might, a second of it.
    database.pragma('synchronous = NORMAL')
    this.#sql = statements(database)
    this.#doneSeq = this.#sql.done.get() ?? 0
    this.#timers = visits
      ? []
      : [
          setInterval(() => void this.#save().catch(() => undefined), saveEveryMs),
          setInterval(() => this.#look(), pollMs),
        ]
    for (const timer of this.#timers) timer.unref()
    this.#follow()
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
    const states = new Map(this.#sql.all.all().map(({ quota, state }) => [quota, stateFrom(state)]))
    for (const [quota, state] of this.#unsaved) states.set(quota, state)
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

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#save()
    this.#database.close()
  }

  #state(quota: string): QuotaState {
    const known = this.#memory.get(quota) ?? this.#unsaved.get(quota)
    if (known) return known
    const row = this.#sql.one.get(quota)
    const state = row === undefined ? newQuota() : stateFrom(row)
    this.#memory.set(quota, state)
    return state
  }

  async #order(order: Omit<Order, 'seq'>): Promise<void> {
    this.#sql.leave.run({ ...order, leftAtMs: this.#clock() })
    this.#follow()
    await this.#save()
  }

  /** Does what was ordered since; several processes may do the same, to the same end. */
  #follow(): void {
    const orders = this.#sql.ordersSince.all(this.#doneSeq)
    for (const order of orders) this.#obey(order)
    const last = orders.at(-1)
    if (!last) return
    this.#doneSeq = last.seq
    this.#listeners.forEach(({ forgiven }) => forgiven())
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
      const version = this.#sql.fileVersion.get()
      if (version !== this.#fileVersion) this.#follow()
      this.#fileVersion = version
    } catch {
      // A file that can't be read at the moment is looked at again at the next tick.
    }
  }

  async #save(): Promise<void> {
    if (this.#visits || this.#saving || !this.#database.open) return
    this.#saving = true
    try {
      while (this.#unsaved.size > 0 && this.#database.open) {
        const batch = [...this.#unsaved].slice(0, batchSize)
        this.#sql.save(batch, this.#doneSeq, this.#clock())
        for (const [quota] of batch) this.#unsaved.delete(quota)
        await new Promise((resolve) => setImmediate(resolve))
      }
    } finally {
      this.#saving = false
    }
  }
}

function statements(database: Database) {
  const put = database.prepare('INSERT OR REPLACE INTO quotas VALUES (?, ?, ?)')
  const forget = database.prepare('DELETE FROM quotas WHERE keepUntilMs < ?')
  const forgetOrders = database.prepare('DELETE FROM orders WHERE leftAtMs < ?')
  const setDone = database.prepare('UPDATE ordersDone SET seq = ?')
  const save = database.transaction(
    (states: readonly [string, QuotaState][], doneSeq: number, now: number) => {
      for (const [quota, state] of states) put.run(quota, keepUntil(state), textOf(state))
      setDone.run(doneSeq)
      forget.run(now)
      forgetOrders.run(now - orderMs)
    },
  )
  return {
    save: (...args: Parameters<typeof save>) => save.immediate(...args),
    one: database.prepare<string, string>('SELECT state FROM quotas WHERE quota = ?').pluck(),
    all: database.prepare<[], { quota: string; state: string }>('SELECT quota, state FROM quotas'),
    done: database.prepare<[], number>('SELECT seq FROM ordersDone').pluck(),
    ordersSince: database.prepare<number, Order>('SELECT * FROM orders WHERE seq > ? ORDER BY seq'),
    leave: database.prepare(
      `INSERT INTO orders (leftAtMs, what, quota, key, untilMs)
       VALUES (:leftAtMs, :what, :quota, :key, :untilMs)`,
    ),
    fileVersion: database.prepare('PRAGMA data_version').pluck(),
  }
}

/** Until when a quota can matter: its day, and the memory of its bans. */
function keepUntil({ day, conducts }: QuotaState): number {
  let until = (day + 1) * dayMs
  for (const { bannedUntilMs } of conducts?.values() ?? []) {
    if (bannedUntilMs > 0) until = Math.max(until, bannedUntilMs + rememberedMs)
  }
  return until
}

function textOf(state: QuotaState): string {
  return JSON.stringify({ ...state, conducts: [...(state.conducts ?? [])] })
}

/** Written by `textOf` alone, into a file that nobody else writes. */
function stateFrom(text: string): QuotaState {
  const saved = JSON.parse(text) as Saved
  return { ...saved, conducts: saved.conducts.length > 0 ? new Map(saved.conducts) : undefined }
}
