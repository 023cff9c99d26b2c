import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { breathe } from '../../../../shared/breathe.ts'
import type { NewNotice } from '../../records/notice.ts'
import type { NoticeType } from '../../records/notice-types.ts'
import {
  keptMs,
  leaseMs,
  mostQueued,
  queued,
  queuedFrom,
  type Added,
  type NoticeStore,
  type Outcome,
  type Queued,
  type QueueName,
  type QueueState,
  type Turn,
} from '../../records/notice-store.ts'
import { answerOf, promiseOf } from './answer.ts'
import { oldestRows, oldRows } from './old-rows.ts'

/** Notices that are read in one turn of the loop. */
const pageSize = 500

type Row = Readonly<{ seq: number; id: string; item: string; dueMs: number | null }>
type AddressRow = Readonly<{
  queued: number
  dropped: number
  ended: string | null
  endedAtMs: number | null
}>

const nothing: Added = { isNew: false, dropped: [] }

/** Notices in a SQLite file, which several processes may have open; `most` is the most of a queue. */
export class EmbeddedNotices implements NoticeStore {
  readonly #database: Database
  readonly #clock: Clock
  readonly #most: number
  readonly #tables: ReturnType<typeof tablesOf>

  constructor(database: Database, clock: Clock, most = mostQueued) {
    this.#database = database
    this.#clock = clock
    this.#most = most
    this.#tables = tablesOf(database)
  }

  add(notice: NewNotice, queues: readonly QueueName[]): Promise<Added> {
    return this.#inOneStep(() => this.#put(notice, queues))
  }

  turn(
    { subject, state, by }: Turn,
    notice: NewNotice | undefined,
    queues: readonly QueueName[],
  ): Promise<Added> {
    return this.#inOneStep(() => {
      if ((this.#tables.state.get(subject) ?? '') === state) return nothing
      if (state === '') this.#tables.forgetState.run(subject)
      else this.#tables.note.run(subject, state, by)
      return notice ? this.#put(notice, queues) : nothing
    })
  }

  turns(): Promise<readonly Turn[]> {
    return promiseOf(() => this.#tables.states.all())
  }

  async due({ id }: QueueName, limit: number): Promise<readonly Queued[]> {
    // Looked at first, because a transaction takes the lock of the file.
    const isDue = await promiseOf(() => this.#tables.due.get(id, this.#clock(), 1) !== undefined)
    return isDue ? this.#inOneStep(() => this.#handOut(id, limit)) : []
  }

  settle(queue: QueueName, id: string, outcome: Outcome): Promise<void> {
    return this.#inOneStep(() => this.#settle(queue, id, outcome))
  }

  stateOf({ id, version }: QueueName): Promise<QueueState> {
    return promiseOf(() => {
      const { queued = 0, dropped = 0, ended, endedAtMs } = this.#tables.address.get(id) ?? {}
      const waiting = this.#tables.waiting.get(id) ?? 0
      const isEnded = ended === version && typeof endedAtMs === 'number'
      return {
        waiting,
        givenUp: queued - waiting,
        dropped,
        endedAtMs: isEnded ? endedAtMs : undefined,
      }
    })
  }

  async *list({ id }: QueueName): AsyncGenerator<Queued> {
    for (let end = Number.MAX_SAFE_INTEGER; ;) {
      const rows = answerOf(() => this.#tables.page.all(id, end, pageSize))
      for (const { item } of rows) yield* queuedFrom(item)
      if (rows.length < pageSize) return
      end = rows.at(-1)?.seq ?? 0
      await breathe()
    }
  }

  #inOneStep<Result>(change: () => Result): Promise<Result> {
    return promiseOf(() => this.#database.transaction(change).immediate())
  }

  #put(notice: NewNotice, queues: readonly QueueName[]): Added {
    const { id, mark, yields, rememberMs } = notice
    const tables = this.#tables
    const nowMs = this.#clock()
    if (tables.told.get(id, nowMs)) return nothing
    if (yields && mark !== undefined && tables.told.get(mark, nowMs)) return nothing
    tables.forgetTold(nowMs)
    for (const name of [id, ...(mark === undefined ? [] : [mark])]) {
      tables.tell.run(name, nowMs + rememberMs)
    }
    const item = JSON.stringify(queued(notice))
    const dropped = queues.flatMap((queue): readonly NoticeType[] => {
      if (tables.address.get(queue.id)?.ended === queue.version) return []
      tables.insert.run(queue.id, id, nowMs, nowMs, item)
      return this.#dropOldest(queue.id)
    })
    return { isNew: true, dropped }
  }

  /** Removes the oldest notice of a full queue; tells its type if it was still waiting. */
  #dropOldest(queue: string): NoticeType[] {
    const tables = this.#tables
    if ((tables.address.get(queue)?.queued ?? 0) <= this.#most) return []
    const oldest = tables.oldest.get(queue)
    if (!oldest) return []
    tables.remove.run(queue, oldest.id)
    if (oldest.dueMs === null) return []
    tables.drop.run(queue, 1)
    return queuedFrom(oldest.item).map(({ type }) => type)
  }

  #handOut(queue: string, limit: number): Queued[] {
    const nowMs = this.#clock()
    this.#tables.forget(nowMs - keptMs)
    const rows = this.#tables.due.all(queue, nowMs, limit)
    for (const { id } of rows) this.#tables.lease.run(nowMs + leaseMs, queue, id)
    return rows.flatMap(({ item }) => queuedFrom(item))
  }

  #settle(queue: QueueName, id: string, outcome: Outcome): void {
    const tables = this.#tables
    if (outcome.is === 'delivered') tables.remove.run(queue.id, id)
    else if (outcome.is === 'revived') tables.revive.run(queue.id)
    else if (outcome.is === 'again') {
      const dueMs = this.#clock() + outcome.delayMs
      tables.settle.run(dueMs, JSON.stringify(outcome.after), queue.id, id)
    } else if (outcome.is === 'given up') {
      tables.settle.run(null, JSON.stringify(outcome.after), queue.id, id)
    } else {
      tables.drop.run(queue.id, tables.waiting.get(queue.id) ?? 0)
      tables.removeAll.run(queue.id)
      tables.end.run(queue.version, this.#clock(), queue.id)
    }
  }
}

function tablesOf(database: Database) {
  const ofQueue = 'FROM notices WHERE address = ?'
  const ofNotice = 'WHERE address = ? AND id = ?'
  return {
    told: database.prepare<[string, number], object>(
      'SELECT id FROM noticesTold WHERE id = ? AND untilMs > ?',
    ),
    tell: database.prepare('INSERT OR REPLACE INTO noticesTold VALUES (?, ?)'),
    forgetTold: oldRows(database, { table: 'noticesTold', key: 'id', isOld: 'untilMs <= ?' }),
    insert: database.prepare(
      `INSERT OR IGNORE INTO notices (address, id, addedAtMs, dueMs, item)
       VALUES (?, ?, ?, ?, ?)`,
    ),
    waiting: database
      .prepare<[string], number>(`SELECT count(*) ${ofQueue} AND dueMs IS NOT NULL`)
      .pluck(),
    oldest: database.prepare<[string], Row>(`SELECT * ${ofQueue} ORDER BY seq LIMIT 1`),
    remove: database.prepare(`DELETE FROM notices ${ofNotice}`),
    removeAll: database.prepare(`DELETE ${ofQueue}`),
    forget: oldestRows(database, 'notices', 'addedAtMs'),
    due: database.prepare<[string, number, number], Row>(
      `SELECT * ${ofQueue} AND dueMs <= ? ORDER BY dueMs LIMIT ?`,
    ),
    lease: database.prepare(`UPDATE notices SET dueMs = ? ${ofNotice}`),
    settle: database.prepare(`UPDATE notices SET dueMs = ?, item = ? ${ofNotice}`),
    page: database.prepare<[string, number, number], Row>(
      `SELECT * ${ofQueue} AND seq < ? ORDER BY seq DESC LIMIT ?`,
    ),
    address: database.prepare<[string], AddressRow>(
      'SELECT queued, dropped, ended, endedAtMs FROM noticeAddresses WHERE address = ?',
    ),
    drop: database.prepare(
      `INSERT INTO noticeAddresses (address, dropped) VALUES (?, ?) ON CONFLICT DO UPDATE SET
         dropped = dropped + excluded.dropped`,
    ),
    end: database.prepare('UPDATE noticeAddresses SET ended = ?, endedAtMs = ? WHERE address = ?'),
    revive: database.prepare(
      'UPDATE noticeAddresses SET ended = NULL, endedAtMs = NULL WHERE address = ?',
    ),
    state: database
      .prepare<[string], string>('SELECT state FROM noticeStates WHERE subject = ?')
      .pluck(),
    states: database.prepare<[], Turn>('SELECT subject, state, teller AS "by" FROM noticeStates'),
    note: database.prepare(
      `INSERT INTO noticeStates VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET
         state = excluded.state, teller = excluded.teller`,
    ),
    forgetState: database.prepare('DELETE FROM noticeStates WHERE subject = ?'),
  }
}
