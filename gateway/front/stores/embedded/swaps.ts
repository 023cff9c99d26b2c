import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { progressFrom, type SwapProgress } from '../../swaps/progress.ts'
import {
  swapKeptMs,
  type ProcessRound,
  type SeenSwap,
  type SwapName,
  type SwapStore,
} from '../../swaps/store.ts'
import { answerOf } from './answer.ts'

type Row = Readonly<{ version: number; round: number; course: string; askedAtMs: number }>

/** How old the note of the last look may become: a note costs a write. */
const askedNoteMs = 86_400_000

/** Swaps in a SQLite file, which a command line may have open beside the gateway. */
export class EmbeddedSwaps implements SwapStore {
  readonly #database: Database
  readonly #clock: Clock
  readonly #statements: ReturnType<typeof statementsOf>
  /** The last that was told: counts that are the same aren't written again. */
  #lastTold = ''

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
    this.#statements = statementsOf(database)
  }

  look(swap: SwapName, told?: ProcessRound): Promise<SeenSwap> {
    return Promise.resolve(answerOf(() => this.#look(swap, told)))
  }

  change(swap: SwapName, version: number, progress: SwapProgress): Promise<boolean> {
    const change = this.#database.transaction(() => this.#change(swap, version, progress))
    return Promise.resolve(answerOf(() => change.immediate()))
  }

  #look({ upstream, id }: SwapName, told: ProcessRound | undefined): SeenSwap {
    const { read, asked, tell, countsOf } = this.#statements
    const row = read.get(upstream, id)
    const nowMs = this.#clock()
    if (row && nowMs - row.askedAtMs > askedNoteMs) asked.run(nowMs, upstream, id)
    const text = told && [upstream, id, told.by, told.round, told.counts].join(' ')
    if (text && text !== this.#lastTold && row?.round === told.round) {
      tell.run(upstream, id, told.by, told.counts)
      this.#lastTold = text
    }
    return {
      nowMs,
      version: row?.version ?? 0,
      progress: progressFrom(row?.course ?? ''),
      counts: countsOf.all(upstream, id),
    }
  }

  #change({ upstream, id }: SwapName, version: number, progress: SwapProgress): boolean {
    const { read, write, clear, forget } = this.#statements
    const row = read.get(upstream, id)
    if ((row?.version ?? 0) !== version) return false
    const nowMs = this.#clock()
    write.run(upstream, id, version + 1, progress.round, JSON.stringify(progress), nowMs)
    if (row?.round !== progress.round) clear.run(upstream, id)
    forget.run(nowMs - swapKeptMs)
    return true
  }
}

function statementsOf(database: Database) {
  return {
    read: database.prepare<[string, string], Row>(
      'SELECT version, round, course, askedAtMs FROM swaps WHERE upstream = ? AND id = ?',
    ),
    write: database.prepare(
      `INSERT INTO swaps VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         version = excluded.version, round = excluded.round, course = excluded.course,
         askedAtMs = excluded.askedAtMs`,
    ),
    asked: database.prepare('UPDATE swaps SET askedAtMs = ? WHERE upstream = ? AND id = ?'),
    forget: database.prepare('DELETE FROM swaps WHERE askedAtMs < ?'),
    countsOf: database
      .prepare<[string, string], string>(
        'SELECT counts FROM swapCounts WHERE upstream = ? AND id = ?',
      )
      .pluck(),
    tell: database.prepare(
      'INSERT INTO swapCounts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET counts = excluded.counts',
    ),
    clear: database.prepare('DELETE FROM swapCounts WHERE upstream = ? AND id = ?'),
  }
}
