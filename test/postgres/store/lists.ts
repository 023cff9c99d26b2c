import { listStart, type Entry, type Lists } from '../../../gateway/index.ts'
import { nowAt, packed, unpacked, type Database } from './database.ts'

const atOnce = 500

/** Lists in a table. One process at a time adds to a list, so that places are in the order in which entries come to be. */
export function postgresLists({ query, within, testClock }: Database): Lists {
  return {
    async add({ name, most, keptMs }, entries) {
      await within(async (query) => {
        await query('SELECT pg_advisory_xact_lock(hashtext($1))', name)
        await query(
          `INSERT INTO lists (list, key, body, at_ms)
             SELECT $1, key, body, ${nowAt(4)} FROM unnest($2::text[], $3::text[]) AS e (key, body)`,
          ...[name, entries.map(({ key }) => packed(key))],
          ...[entries.map(({ body }) => packed(body)), testClock?.()],
        )
        await query(
          `DELETE FROM lists WHERE list = $1 AND (at_ms < ${nowAt(3)} - $2 OR place <=
             (SELECT place FROM lists WHERE list = $1 ORDER BY place DESC OFFSET $4 LIMIT 1))`,
          ...[name, keptMs, testClock?.(), most],
        )
      })
    },

    async since({ name }, cursor) {
      if (cursor === undefined) {
        const [end] = await query('SELECT max(place) AS place FROM lists WHERE list = $1', name)
        return { entries: [], cursor: cursorIn(end, listStart) }
      }
      const rows = await query(
        `SELECT * FROM lists WHERE list = $1 AND place > $2 ORDER BY place LIMIT ${atOnce}`,
        ...[name, cursor],
      )
      return { entries: rows.map(entryIn), cursor: cursorIn(rows.at(-1), cursor) }
    },

    async *back({ name }, key) {
      let before: unknown = null
      for (;;) {
        const rows = await query(
          `SELECT * FROM lists WHERE list = $1 AND place < coalesce($2, 9e18::bigint) AND key = coalesce($3, key)
           ORDER BY place DESC LIMIT ${atOnce}`,
          ...[name, before, key === undefined ? null : packed(key)],
        )
        if (rows.length === 0) return
        yield rows.map(entryIn)
        before = rows.at(-1)?.['place']
      }
    },

    async forget({ name }, cursor) {
      await query('DELETE FROM lists WHERE list = $1 AND place <= $2', name, cursor)
    },
  }
}

function entryIn({ key, body }: Readonly<Record<string, unknown>>): Entry {
  return { key: unpacked(key), body: unpacked(body) }
}

function cursorIn(row: Readonly<Record<string, unknown>> | undefined, otherwise: string): string {
  const place = row?.['place']
  return typeof place === 'string' ? place : otherwise
}
