import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { rememberedMs, type Document, type Documents } from '../../shelves/documents.ts'
import { promiseOf } from './answer.ts'
import { withoutSync } from './database.ts'
import { oldRows } from './old-rows.ts'

/** Documents in a SQLite file, which several processes may have open: a row each. Commits of the connection wait for the disk. */
export function embeddedDocuments(database: Database, clock: Clock): Documents {
  const columns = 'name, version, untilMs, body'
  const ofFolder = database.prepare<[string, number], Document>(
    `SELECT ${columns} FROM documents WHERE folder = ? AND untilMs > ?`,
  )
  const named = database.prepare<[string, number, string], Document>(
    `SELECT ${columns} FROM documents WHERE folder = ? AND untilMs > ? AND name = ?`,
  )
  const taken = database.prepare<[string, string], Document>(
    `DELETE FROM documents WHERE folder = ? AND name = ? RETURNING ${columns}`,
  )
  const write = database.prepare(
    `INSERT INTO documents SELECT @folder, @name, 1, @untilMs, @body
       WHERE coalesce(@version, 0) = 0 OR EXISTS
         (SELECT 1 FROM documents WHERE folder = @folder AND name = @name)
     ON CONFLICT DO UPDATE SET version = version + 1, untilMs = excluded.untilMs, body = excluded.body
       WHERE coalesce(@version = iif(untilMs > @nowMs, version, 0), true)`,
  )
  const forget = oldRows(database, {
    ...{ table: 'documents', key: 'folder, name', isOld: 'untilMs <= ?' },
  })

  return {
    list: (folder) =>
      promiseOf(() => {
        const nowMs = clock()
        return { nowMs, documents: ofFolder.all(folder, nowMs) }
      }),

    get: (folder, name) => promiseOf(() => named.get(folder, clock(), name)),

    take: (folder, name) =>
      promiseOf(() => {
        const found = taken.get(folder, name)
        return found && found.untilMs > clock() ? found : undefined
      }),

    put: (folder, name, text, { keptMs, version = null }) =>
      promiseOf(() => {
        const nowMs = clock()
        const body = Buffer.from(text)
        const put = (): boolean => {
          forget(nowMs - rememberedMs)
          const row = { folder, name, version, nowMs, untilMs: nowMs + keptMs, body }
          return write.run(row).changes === 1
        }
        return version === null ? withoutSync(database, put) : put()
      }),
  }
}
