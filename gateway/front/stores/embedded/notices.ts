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
  type Turn,
} from '../../records/notice-store.ts'
import { answerOf } from './answer.ts'

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
export function embeddedNotices(database: Database, clock: Clock, most = mostQueued): NoticeStore {
  const tables = tablesOf(database)

  function put(notice: NewNotice, queues: readonly QueueName[], nowMs: number): Added {
    const { id, mark, yields, rememberMs } = notice
    if (tables.told.get(id, nowMs)) return nothing
    if (yields && mark !== undefined && tables.told.get(mark, nowMs)) return nothing
    tables.forgetTold.run(nowMs)
    for (const name of [id, ...(mark === undefined ? [] : [mark])]) {
      tables.tell.run(name, nowMs + rememberMs)
    }
    const item = JSON.stringify(queued(notice))
    const dropped = queues.flatMap((queue): readonly NoticeType[] => {
      if (tables.address.get(queue.id)?.ended === queue.version) return []
      tables.insert.run(queue.id, id, nowMs, nowMs, item)
      return dropOldest(queue.id)
    })
    return { isNew: true, dropped }
  }

  /** Removes the oldest notice of a full queue; tells its type if it was still waiting. */
  function dropOldest(queue: string): NoticeType[] {
    if ((tables.address.get(queue)?.queued ?? 0) <= most) return []
    const oldest = tables.oldest.get(queue)
    if (!oldest) return []
    tables.remove.run(queue, oldest.id)
    if (oldest.dueMs === null) return []
    tables.drop.run(queue, 1)
    return queuedFrom(oldest.item).map(({ type }) => type)
  }

  const add = database.transaction((notice: NewNotice, queues: readonly QueueName[]) =>
    put(notice, queues, clock()),
  )
  const turn = database.transaction(
    ({ subject, state, by }: Turn, notice: NewNotice | undefined, queues: readonly QueueName[]) => {
      if ((tables.state.get(subject) ?? '') === state) return nothing
      if (state === '') tables.forgetState.run(subject)
      else tables.note.run(subject, state, by)
      return notice ? put(notice, queues, clock()) : nothing
    },
  )
  const due = database.transaction((queue: string, limit: number): Queued[] => {
    const nowMs = clock()
    tables.forget.run(nowMs - keptMs)
    const rows = tables.due.all(queue, nowMs, limit)
    for (const { id } of rows) tables.lease.run(nowMs + leaseMs, queue, id)
    return rows.flatMap(({ item }) => queuedFrom(item))
  })
  const settle = database.transaction((queue: QueueName, id: string, outcome: Outcome) => {
    if (outcome.is === 'delivered') tables.remove.run(queue.id, id)
    else if (outcome.is === 'revived') tables.revive.run(queue.id)
    else if (outcome.is === 'again') {
      const dueMs = clock() + outcome.delayMs
      tables.settle.run(dueMs, JSON.stringify(outcome.after), queue.id, id)
    } else if (outcome.is === 'given up') {
      tables.settle.run(null, JSON.stringify(outcome.after), queue.id, id)
    } else {
      tables.drop.run(queue.id, tables.waiting.get(queue.id) ?? 0)
      tables.removeAll.run(queue.id)
      tables.end.run(queue.version, clock(), queue.id)
    }
  })

  return {
    add: (notice, queues) => promised(() => add.immediate(notice, queues)),
    turn: (change, notice, queues) => promised(() => turn.immediate(change, notice, queues)),
    turns: () => promised(() => tables.states.all()),
    due: (queue, limit) =>
      promised(() => {
        // Looked at first, because a transaction takes the lock of the file.
        const isDue = tables.due.get(queue.id, clock(), 1) !== undefined
        return isDue ? due.immediate(queue.id, limit) : []
      }),
    settle: (queue, id, outcome) => promised(() => settle.immediate(queue, id, outcome)),
    stateOf: ({ id, version }) =>
      promised(() => {
        const { queued = 0, dropped = 0, ended, endedAtMs } = tables.address.get(id) ?? {}
        const waiting = tables.waiting.get(id) ?? 0
        const isEnded = ended === version && typeof endedAtMs === 'number'
        return {
          waiting,
          givenUp: queued - waiting,
          dropped,
          endedAtMs: isEnded ? endedAtMs : undefined,
        }
      }),

    async *list({ id }) {
      for (let end = Number.MAX_SAFE_INTEGER; ;) {
        const rows = answerOf(() => tables.page.all(id, end, pageSize))
        for (const { item } of rows) yield* queuedFrom(item)
        if (rows.length < pageSize) return
        end = rows.at(-1)?.seq ?? 0
        await breathe()
      }
    },
  }
}

/** A promise of what the file answers; it rejects where the file throws. */
function promised<Answer>(ask: () => Answer): Promise<Answer> {
  return new Promise((resolve) => resolve(answerOf(ask)))
}

function tablesOf(database: Database) {
  const ofQueue = 'FROM notices WHERE address = ?'
  const ofNotice = 'WHERE address = ? AND id = ?'
  return {
    told: database.prepare<[string, number], object>(
      'SELECT id FROM noticesTold WHERE id = ? AND untilMs > ?',
    ),
    tell: database.prepare('INSERT OR REPLACE INTO noticesTold VALUES (?, ?)'),
    forgetTold: database.prepare('DELETE FROM noticesTold WHERE untilMs <= ?'),
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
    forget: database.prepare('DELETE FROM notices WHERE addedAtMs < ?'),
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
