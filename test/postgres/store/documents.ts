import type { Document, Documents } from '../../../gateway/index.ts'
import { rememberedMs } from '../../../gateway/front/shelves/documents.ts'
import { nowAt, packed, unpacked, type Database } from './database.ts'

/** Documents in a table. */
export function postgresDocuments({ query, testClock }: Database): Documents {
  const ofRow = (row: Readonly<Record<string, unknown>>): Document[] =>
    row['name'] === null
      ? []
      : [
          {
            ...{ name: unpacked(row['name']), version: Number(row['version']) },
            ...{ untilMs: Number(row['until_ms']), body: row['body'] as Buffer },
          },
        ]

  return {
    async list(folder) {
      const place = packed(folder)
      const rows = await query(
        `SELECT now, d.* FROM (SELECT ${nowAt(2)} AS now) time
         LEFT JOIN documents d ON folder = $1 AND until_ms > now`,
        ...[place, testClock?.()],
      )
      const nowMs = Number(rows[0]?.['now'])
      await query(
        'DELETE FROM documents WHERE folder = $1 AND until_ms < $2',
        ...[place, nowMs - rememberedMs],
      )
      return { nowMs, documents: rows.flatMap(ofRow) }
    },

    async get(folder, name) {
      const [found] = await query(
        `SELECT * FROM documents WHERE folder = $1 AND name = $2 AND until_ms > ${nowAt(3)}`,
        ...[packed(folder), packed(name), testClock?.()],
      )
      return found && ofRow(found)[0]
    },

    async put(folder, name, body, { keptMs, version }) {
      const written = await query(
        `INSERT INTO documents AS d
           SELECT $1, $2, 1, ${nowAt(5)} + $4, $3
           WHERE coalesce($6, 0) = 0 OR EXISTS (SELECT FROM documents WHERE folder = $1 AND name = $2)
         ON CONFLICT (folder, name) DO UPDATE
           SET until_ms = excluded.until_ms, body = excluded.body, version =
             CASE WHEN d.until_ms + ${rememberedMs} > ${nowAt(5)} THEN d.version + 1 ELSE 1 END
           WHERE $6 IS NULL OR $6 = CASE WHEN d.until_ms > ${nowAt(5)} THEN d.version ELSE 0 END
         RETURNING 1`,
        ...[packed(folder), packed(name), Buffer.from(body), keptMs, testClock?.(), version],
      )
      return written.length === 1
    },

    async take(folder, name) {
      const [taken] = await query(
        'DELETE FROM documents WHERE folder = $1 AND name = $2 RETURNING *, ' +
          `until_ms > ${nowAt(3)} AS runs`,
        ...[packed(folder), packed(name), testClock?.()],
      )
      return taken?.['runs'] === true ? ofRow(taken)[0] : undefined
    },
  }
}
