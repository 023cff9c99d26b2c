import { breathe } from '../../../../shared/breathe.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import type { Key } from '../../keys/key.ts'
import { fits, idIn, lineOf } from '../../keys/line.ts'
import { lineOfRecord, oneAtATime, type FoundLine, type KeyIndex } from '../key-index.ts'
import { answerOf } from './answer.ts'
import { isThere, othersWrite, withoutSync } from './database.ts'

/** Lines that are read in one turn of the loop: half a millisecond. */
const linesAtOnce = 1_000

/** The most keys that a walk gives at a time: parsing them takes as long. */
const foundAtOnce = 100

/** Records that are read, and lines that are written, in one turn of the loop. */
const batchSize = 250

/** Lines that are put in order before they are written, because neighbours share pages of the file. */
const runSize = 5_000

type Row = Readonly<{ id: string; version: number; record: string }>

/** The index, and steps of a transaction. */
export type Lines = KeyIndex &
  Readonly<{
    add: (key: Key) => void
    replace: (before: string, after: string) => void
    /** Notes a new version, before its key is written: its line comes with it, and no other is missing. */
    note: (version: number) => void
  }>

/** The index of keys in a gateway's file. */
export function linesIn(database: Database): Lines {
  const { insert, remove, after, row, latest, linedUpTo, since, ...others } = statementsOf(database)

  const insertAll = database.transaction((lines: readonly string[]) => {
    for (const line of lines) insert.run(line)
  })

  /** The lines of the next keys after a version, in order, and the last of their versions. */
  async function missing(from: number): Promise<{ lines: string[]; upTo: number }> {
    const lines: string[] = []
    let upTo = from
    for (let isEnd = false; !isEnd && lines.length < runSize;) {
      const rows = answerOf(() => since.all(upTo))
      for (const { id, record } of rows) lines.push(lineOfRecord(id, record))
      upTo = rows.at(-1)?.version ?? upTo
      isEnd = rows.length < batchSize
      await breathe()
    }
    return { lines: lines.sort(), upTo }
  }

  return {
    add: (key) => void insert.run(lineOf(key)),

    replace(before, after) {
      if (before !== after) remove.run(before)
      insert.run(after)
    },

    note: (version) => void others.note.run(version, latest.get() ?? 0),

    async walk(from, filter, most) {
      await breathe()
      const matches: FoundLine[] = []
      const lines = answerOf(() => after.all(from))
      for (const line of lines) {
        if (!fits(line, filter)) continue
        const key = answerOf(() => row.get(idIn(line)))
        if (key) matches.push({ line, record: key.record, version: key.version })
        else answerOf(() => others.removeOfNone.run(line, idIn(line)))
        if (matches.length === Math.min(most, foundAtOnce)) return { found: matches, end: line }
      }
      return { found: matches, end: lines.length === linesAtOnce ? lines.at(-1) : undefined }
    },

    remove(lines) {
      for (const { line, version } of lines) {
        answerOf(() => others.removeStale.run(line, version, idIn(line)))
      }
      return Promise.resolve()
    },

    catchUp: oneAtATime(async () => {
      while (database.open) {
        const from = answerOf(() => linedUpTo.get()) ?? 0
        if (from >= (answerOf(() => latest.get()) ?? 0)) return
        const { lines, upTo } = await missing(from)
        for (let start = 0; start < lines.length && database.open; start += batchSize) {
          const batch = lines.slice(start, start + batchSize)
          answerOf(() => withoutSync(database, () => insertAll.immediate(batch)))
          await othersWrite()
        }
        // If something else has noted a version meanwhile, the next round sees what is missing.
        if (database.open) {
          answerOf(() => withoutSync(database, () => others.noteFrom.run(upTo, from)))
        }
      }
    }),
  }
}

function statementsOf(database: Database) {
  return {
    insert: database.prepare('INSERT OR IGNORE INTO lines VALUES (?)'),
    remove: database.prepare('DELETE FROM lines WHERE line = ?'),
    removeStale: database.prepare(
      'DELETE FROM lines WHERE line = ? AND ? = (SELECT version FROM keys WHERE id = ?)',
    ),
    removeOfNone: database.prepare(
      'DELETE FROM lines WHERE line = ? AND NOT EXISTS (SELECT 1 FROM keys WHERE id = ?)',
    ),
    after: database
      .prepare<[string], string>(
        `SELECT line FROM lines WHERE line > ? ORDER BY line LIMIT ${linesAtOnce}`,
      )
      .pluck(),
    row: database.prepare<string, Row>(`SELECT * FROM keys WHERE id = ? AND ${isThere}`),
    latest: database.prepare<[], number>('SELECT coalesce(max(version), 0) FROM keys').pluck(),
    linedUpTo: database.prepare<[], number>('SELECT version FROM lined').pluck(),
    note: database.prepare('UPDATE lined SET version = ? WHERE version >= ?'),
    noteFrom: database.prepare('UPDATE lined SET version = ? WHERE version = ?'),
    since: database.prepare<number, Row>(
      `SELECT * FROM keys WHERE version > ? ORDER BY version LIMIT ${batchSize}`,
    ),
  }
}
