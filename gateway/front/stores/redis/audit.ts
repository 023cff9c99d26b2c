import { breathe } from '../../../../shared/breathe.ts'
import {
  auditEntriesFrom,
  auditText,
  rememberedEntries,
  takerFor,
  type AuditEntry,
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

    async list(query) {
      const takes = takerFor(query)
      const entries: AuditEntry[] = []
      let end = '+'
      for (;;) {
        const page = await answerOf(connection.xrevrange(stream, end, '-', 'COUNT', pageSize))
        for (const [, fields] of page) {
          const [entry] = auditEntriesFrom(fields[1])
          if (!entry) continue
          if (entry.atMs < query.fromMs) return entries
          if (takes(entry) && entries.push(entry) === query.limit) return entries
        }
        if (page.length < pageSize) return entries
        end = `(${page.at(-1)?.[0]}`
        await breathe()
      }
    },

    async since(cursor) {
      if (cursor === undefined) {
        const [newest] = await answerOf(connection.xrevrange(stream, '+', '-', 'COUNT', 1))
        return { entries: [], cursor: newest?.[0] ?? '0-0' }
      }
      const added = await answerOf(connection.xrange(stream, `(${cursor}`, '+', 'COUNT', pageSize))
      return {
        entries: added.flatMap(([, fields]) => auditEntriesFrom(fields[1])),
        cursor: added.at(-1)?.[0] ?? cursor,
      }
    },
  }
}
