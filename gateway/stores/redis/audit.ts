import {
  auditEntriesFrom,
  auditText,
  rememberedEntries,
  type AuditStore,
} from '../../records/audit-store.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'

/** Lines per read. */
const pageSize = 500

/** The audit in a stream of Redis. */
export function redisAudit(connection: Connection, prefix: string): AuditStore {
  const stream = `${prefix}audit`

  return {
    async add(entry) {
      await answerOf(
        connection.xadd(stream, 'MAXLEN', '~', rememberedEntries, '*', 'entry', auditText(entry)),
      )
    },

    async list({ fromMs, limit, subject }) {
      const entries = []
      let end = '+'
      for (;;) {
        const page = await answerOf(connection.xrevrange(stream, end, '-', 'COUNT', pageSize))
        for (const [, fields] of page) {
          const [entry] = auditEntriesFrom(fields[1])
          if (!entry || (subject ?? entry.subject) !== entry.subject) continue
          if (entry.atMs < fromMs) return entries
          if (entries.push(entry) === limit) return entries
        }
        if (page.length < pageSize) return entries
        end = `(${page.at(-1)?.[0]}`
      }
    },

    async since(place) {
      if (place === undefined) {
        const [newest] = await answerOf(connection.xrevrange(stream, '+', '-', 'COUNT', 1))
        return { entries: [], place: newest?.[0] ?? '0-0' }
      }
      const added = await answerOf(connection.xrange(stream, `(${place}`, '+', 'COUNT', pageSize))
      return {
        entries: added.flatMap(([, fields]) => auditEntriesFrom(fields[1])),
        place: added.at(-1)?.[0] ?? place,
      }
    },
  }
}
