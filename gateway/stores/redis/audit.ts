import {
  auditEntriesFrom,
  auditText,
  rememberedEntries,
  type AuditStore,
} from '../../records/audit-store.ts'
import type { Connection } from './connect.ts'

/** How many lines are read at a time. */
const pageSize = 500

/** Who has changed what, in a stream of Redis. */
export function redisAudit(connection: Connection, prefix: string): AuditStore {
  const stream = `${prefix}audit`

  return {
    async add(entry) {
      await connection.xadd(
        ...([stream, 'MAXLEN', '~', rememberedEntries, '*', 'entry', auditText(entry)] as const),
      )
    },

    async list({ fromMs, limit, subject }) {
      const found = []
      let end = '+'
      for (;;) {
        const page = await connection.xrevrange(stream, end, '-', 'COUNT', pageSize)
        for (const [, fields] of page) {
          const [entry] = auditEntriesFrom(fields[1])
          if (!entry || (subject ?? entry.subject) !== entry.subject) continue
          if (entry.atMs < fromMs) return found
          if (found.push(entry) === limit) return found
        }
        if (page.length < pageSize) return found
        end = `(${page.at(-1)?.[0]}`
      }
    },

    async since(place) {
      if (place === undefined) {
        const [newest] = await connection.xrevrange(stream, '+', '-', 'COUNT', 1)
        return { entries: [], place: newest?.[0] ?? '0-0' }
      }
      const added = await connection.xrange(stream, `(${place}`, '+', 'COUNT', pageSize)
      return {
        entries: added.flatMap(([, fields]) => auditEntriesFrom(fields[1])),
        place: added.at(-1)?.[0] ?? place,
      }
    },
  }
}
