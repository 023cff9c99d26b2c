import { breathe } from '../../../../shared/breathe.ts'
import { entryOf } from '../../../../shared/entry-of.ts'
import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import type { Entry, List, Lists } from '../../shelves/lists.ts'
import { gatewayLists } from '../records.ts'
import { answerOf, promiseOf } from './answer.ts'
import { listTable, withoutSync } from './database.ts'
import { oldestRows } from './old-rows.ts'

/** Entries that are read in one turn of the loop, and in the first one: most ask for the latest few. */
const [pageSize, firstPage] = [500, 100]

type Row = Entry & Readonly<{ seq: number }>

type Page = Readonly<{ end: number; key: string; size: number }>

/** Lists in a SQLite file, which several processes may have open: a table each. Commits of the connection wait for the disk. */
export function embeddedLists(database: Database, clock: Clock): Lists {
  const opened = new Map<string, ReturnType<typeof statementsOf>>()
  const tableOf = (list: List) =>
    entryOf(opened, list.name, () => answerOf(() => statementsOf(database, list)))
  return {
    add: (list, entries) =>
      promiseOf(() => {
        const { add } = tableOf(list)
        const write = () => void add.immediate(entries, clock())
        if (list.outlivesPowerCut) write()
        else withoutSync(database, write)
      }),

    since: (list, cursor) =>
      promiseOf(() => {
        const { since, last } = tableOf(list)
        if (cursor === undefined) return { entries: [], cursor: String(last.get() ?? 0) }
        const entries = since.all(Number(cursor))
        return { entries, cursor: String(entries.at(-1)?.seq ?? cursor) }
      }),

    async *back(list, key) {
      const { before, beforeOf } = tableOf(list)
      const rowsOf = key === undefined ? before : beforeOf
      for (let [end, size] = [Number.MAX_SAFE_INTEGER, firstPage]; ; size = pageSize) {
        const rows = answerOf(() => rowsOf.all({ end, key: key ?? '', size }))
        yield rows
        if (rows.length < size) return
        end = rows.at(-1)?.seq ?? 0
        await breathe()
      }
    },

    forget: (list, cursor) =>
      promiseOf(() => void withoutSync(database, () => tableOf(list).forget.run(Number(cursor)))),
  }
}

function statementsOf(database: Database, list: List) {
  // The tables of a gateway's own lists came with the file: one that is lost is no empty one.
  if (!gatewayLists.includes(list)) database.exec(listTable(list))
  const { name, most, keptMs } = list
  const table = `list_${name}`
  const pageOf = (filter: string) =>
    database.prepare<[Page], Row>(
      `SELECT seq, key, body FROM ${table} WHERE seq < @end AND ${filter} ORDER BY seq DESC LIMIT @size`,
    )
  const insert = database.prepare(`INSERT INTO list_${name} (atMs, key, body) VALUES (?, ?, ?)`)
  const forget = database.prepare(`DELETE FROM ${table} WHERE seq <= ?`)
  const forgetOld = oldestRows(database, table, 'atMs')
  return {
    add: database.transaction((entries: readonly Entry[], nowMs: number) => {
      let last = 0
      for (const { key, body } of entries) {
        last = Number(insert.run(nowMs, key, body).lastInsertRowid)
      }
      forget.run(last - most)
      if (keptMs !== undefined) forgetOld(nowMs - keptMs)
    }),
    since: database.prepare<[number], Row>(
      `SELECT seq, key, body FROM ${table} WHERE seq > ? ORDER BY seq LIMIT ${pageSize}`,
    ),
    last: database.prepare<[], number>(`SELECT max(seq) FROM ${table}`).pluck(),
    before: pageOf('true'),
    beforeOf: pageOf('key = @key'),
    forget,
  }
}
