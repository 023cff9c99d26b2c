import type { Database } from '../../../shared/sqlite.ts'
import {
  auditEntriesFrom,
  auditText,
  rememberedEntries,
  type AuditStore,
} from '../../records/audit-store.ts'
import { answerOf } from './answer.ts'

type Row = Readonly<{ seq: number; entry: string }>

/** The audit in a SQLite file, which several processes may have open. */
export function embeddedAudit(database: Database): AuditStore {
  const insert = database.prepare(
    'INSERT INTO audit (atMs, subject, entry) VALUES (@atMs, @subject, @entry)',
  )
  const forget = database.prepare('DELETE FROM audit WHERE seq <= ?')
  const newest = database.prepare<[number, number], string>(
    'SELECT entry FROM audit WHERE atMs >= ? ORDER BY seq DESC LIMIT ?',
  )
  const newestOf = database.prepare<[string, number, number], string>(
    'SELECT entry FROM audit WHERE subject = ? AND atMs >= ? ORDER BY seq DESC LIMIT ?',
  )
  const after = database.prepare<[number], Row>(
    'SELECT seq, entry FROM audit WHERE seq > ? ORDER BY seq LIMIT 1000',
  )
  const last = database.prepare<[], number>('SELECT max(seq) FROM audit').pluck()

  return {
    async add(entry) {
      const { atMs, subject } = entry
      answerOf(() => {
        const { lastInsertRowid } = insert.run({ atMs, subject, entry: auditText(entry) })
        forget.run(Number(lastInsertRowid) - rememberedEntries)
      })
      return Promise.resolve()
    },

    async list({ fromMs, limit, subject }) {
      const rows = answerOf(() =>
        subject === undefined
          ? newest.pluck().all(fromMs, limit)
          : newestOf.pluck().all(subject, fromMs, limit),
      )
      return Promise.resolve(rows.flatMap((text) => auditEntriesFrom(text)))
    },

    async since(place) {
      if (place === undefined) {
        const end = answerOf(() => last.get() ?? 0)
        return Promise.resolve({ entries: [], place: String(end) })
      }
      const rows = answerOf(() => after.all(Number(place)))
      return Promise.resolve({
        entries: rows.flatMap(({ entry }) => auditEntriesFrom(entry)),
        place: String(rows.at(-1)?.seq ?? place),
      })
    },
  }
}
