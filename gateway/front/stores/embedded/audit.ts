import type { Database } from '../../../../shared/sqlite.ts'
import { breathe } from '../../../../shared/breathe.ts'
import {
  auditEntriesFrom,
  auditText,
  rememberedEntries,
  takerFor,
  type AuditEntry,
  type AuditStore,
} from '../../records/audit-store.ts'
import { answerOf, promiseOf } from './answer.ts'

/** Lines that are read in one turn of the loop. */
const pageSize = 500

type Page = { end: number; subject: string }

type Row = Readonly<{ seq: number; entry: string }>

/** The audit in a SQLite file, which several processes may have open. */
export function embeddedAudit(database: Database): AuditStore {
  const insert = database.prepare(
    'INSERT INTO audit (atMs, subject, entry) VALUES (@atMs, @subject, @entry)',
  )
  const forget = database.prepare('DELETE FROM audit WHERE seq <= ?')
  const before = (filter: string) =>
    database.prepare<Page, Row>(
      `SELECT seq, entry FROM audit WHERE seq < @end AND ${filter} ORDER BY seq DESC LIMIT ${pageSize}`,
    )
  const newest = before('true')
  const newestOf = before('subject = @subject')
  const after = database.prepare<[number], Row>(
    'SELECT seq, entry FROM audit WHERE seq > ? ORDER BY seq LIMIT 1000',
  )
  const last = database.prepare<[], number>('SELECT max(seq) FROM audit').pluck()

  return {
    add: (entry) =>
      promiseOf(() => {
        const { atMs, subject } = entry
        const { lastInsertRowid } = insert.run({ atMs, subject, entry: auditText(entry) })
        forget.run(Number(lastInsertRowid) - rememberedEntries)
      }),

    async list(query) {
      const { subject = '' } = query
      const rowsOf = query.subject === undefined ? newest : newestOf
      const takes = takerFor(query)
      const entries: AuditEntry[] = []
      for (let end = Number.MAX_SAFE_INTEGER; ;) {
        const rows = answerOf(() => rowsOf.all({ end, subject }))
        for (const { entry: text } of rows) {
          const [entry] = auditEntriesFrom(text)
          if (!entry) continue
          if (entry.atMs < query.fromMs) return entries
          if (takes(entry) && entries.push(entry) === query.limit) return entries
        }
        if (rows.length < pageSize) return entries
        end = rows.at(-1)?.seq ?? 0
        await breathe()
      }
    },

    since: (cursor) =>
      promiseOf(() => {
        if (cursor === undefined) return { entries: [], cursor: String(last.get() ?? 0) }
        const rows = after.all(Number(cursor))
        const entries = rows.flatMap(({ entry }) => auditEntriesFrom(entry))
        return { entries, cursor: String(rows.at(-1)?.seq ?? cursor) }
      }),
  }
}
