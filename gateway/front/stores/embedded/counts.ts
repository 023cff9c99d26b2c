import { breathe } from '../../../../shared/breathe.ts'
import { entryOf } from '../../../../shared/entry-of.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import {
  noLines,
  type Columns,
  type CountLine,
  type Counts,
  type Lines,
  type Space,
} from '../../shelves/counts.ts'
import { countSpaces } from '../records.ts'
import { answerOf } from './answer.ts'
import {
  columnsOf,
  highestId,
  keysAtOnce,
  lineAdder,
  orderOf,
  rowForgetter,
  tableOf,
} from './count-table.ts'

/** Lines that are written in one turn of the loop. */
const linesAtOnce = 250

/** Rows that are read in one turn of the loop, and times that are looked up for keys. */
const [rowsAtOnce, lookUpsAtOnce] = [1_000, 1_000]

/** The number of remembered batches. Each process adds one at a time, so it can be small. */
const rememberedBatches = 1_000

type Row = readonly (string | number)[]

type Range = Readonly<{ from: number; to: number }>

/** The statements of a space. */
type Shelf = Readonly<{
  add: (id: string, lines: readonly CountLine[]) => void
  list: (range: Range) => AsyncIterable<Lines>
  /** Adds the lines of a key to others. */
  readKey: (key: string, range: Range, lines: Columns) => void
}>

/** Counts in a SQLite file, which several processes may have open: a table a space. */
export function embeddedCounts(database: Database): Counts {
  const shelves = new Map<string, Shelf>()
  const shelfOf = (space: Space): Shelf =>
    entryOf(shelves, space.name, () => answerOf(() => shelfIn(database, space)))
  return {
    async add(space, { by, number, lines }) {
      const { add } = shelfOf(space)
      for (let start = 0; start < lines.length; start += linesAtOnce) {
        if (start > 0) await breathe()
        const some = lines.slice(start, start + linesAtOnce)
        answerOf(() => add(`${space.name} ${by} ${number} ${start}`, some))
      }
    },

    list: (space, from, to) => shelfOf(space).list({ from, to }),

    async of(space, keys, from, to) {
      const lines = noLines()
      const { readKey } = shelfOf(space)
      const keysAtOnce = Math.ceil(lookUpsAtOnce / Math.max(1, to - from + 1))
      for (const [i, key] of keys.entries()) {
        if (i > 0 && i % keysAtOnce === 0) await breathe()
        readKey(key, { from, to }, lines)
      }
      return lines
    },
  }
}

function shelfIn(database: Database, space: Space): Shelf {
  // The tables of a gateway's own spaces came with the file: one that is lost is no empty one.
  if (!countSpaces.includes(space)) database.exec(tableOf(space))
  return {
    add: adder(database, space),
    list: space.readBy === 'whole' ? wholeReader(database, space) : pageReader(database, space),
    readKey: keyReader(database, space),
  }
}

function adder(database: Database, space: Space): Shelf['add'] {
  const addLine = lineAdder(database, space)
  const forget = rowForgetter(database, space)
  const note = database.prepare('INSERT OR IGNORE INTO batches (id) VALUES (?)')
  const forgetBatches = database.prepare('DELETE FROM batches WHERE seq <= ?')
  const addSome = database.transaction((id: string, lines: readonly CountLine[]) => {
    const { changes, lastInsertRowid } = note.run(id)
    if (changes === 0) return
    forgetBatches.run(Number(lastInsertRowid) - rememberedBatches)
    lines.forEach(addLine)
    forget(lines)
  })
  return (id, lines) => addSome.immediate(id, lines)
}

/** Reads the rows in their order, some at a time. */
function pageReader(database: Database, space: Space): Shelf['list'] {
  const order = orderOf(space)
  const page = database
    .prepare<[number, string, string, number], Row>(
      `SELECT * FROM counts_${space.name} WHERE (${order}) > (?, ?, ?) AND at <= ?
       ORDER BY ${order} LIMIT ${rowsAtOnce}`,
    )
    .raw()
  return async function* ({ from, to }) {
    let rows = answerOf(() => page.all(from, '', '', to))
    for (let last = rows.at(-1); last; last = rows.at(-1)) {
      const lines = noLines()
      for (const row of rows) addRow(lines, String(row[1]), Number(row[0]), row, 2)
      yield lines
      // The gateway serves requests between two pages.
      await breathe()
      const [at, key, part] = [Number(last[0]), String(last[1]), String(last[2])]
      rows = answerOf(() => page.all(at, key, part, to))
    }
  }
}

/** Reads all rows of some keys at a time. */
function wholeReader(database: Database, space: Space): Shelf['list'] {
  const { name } = space
  const highest = highestId(database, name)
  const names = database
    .prepare<[number, number], [id: number, key: string]>(
      `SELECT id, key FROM counts_${name}_keys WHERE id BETWEEN ? AND ?`,
    )
    .raw()
  const some = database
    .prepare<[number, number, number], Row>(
      `SELECT key, part, ${columnsOf(space).join(', ')} FROM counts_${name} WHERE at = ? AND key BETWEEN ? AND ?
       ORDER BY key, part`,
    )
    .raw()
  return async function* ({ from, to }) {
    const highestNow = answerOf(highest)
    for (let first = 1; first <= highestNow; first += keysAtOnce) {
      const last = first + keysAtOnce - 1
      const times: { at: number; rows: Row[]; next: number }[] = []
      for (let at = from; at <= to; at++) {
        times.push({ at, rows: answerOf(() => some.all(at, first, last)), next: 0 })
      }
      const lines = noLines()
      // Each time has its rows in the order of their keys: grouping them took a report a fifth more.
      for (const [id, key] of answerOf(() => names.all(first, last))) {
        for (const time of times) {
          for (let row = time.rows[time.next]; row && Number(row[0]) <= id;) {
            if (row[0] === id) addRow(lines, key, time.at, row, 1)
            row = time.rows[++time.next]
          }
        }
      }
      yield lines
      await breathe()
    }
  }
}

/** Reads the rows of a key: with one look-up, or with one for each time where rows are in the order of times. */
function keyReader(database: Database, { name, readBy }: Space): Shelf['readKey'] {
  const isInOnePlace = readBy === 'key'
  const id = readBy === 'whole' ? `(SELECT id FROM counts_${name}_keys WHERE key = ?)` : '?'
  const when = isInOnePlace ? 'at BETWEEN ? AND ?' : 'at = ?'
  const rows = database
    .prepare<(string | number)[], Row>(`SELECT * FROM counts_${name} WHERE key = ${id} AND ${when}`)
    .raw()
  return (key, { from, to }, lines) => {
    for (let at = from; at <= to; at = isInOnePlace ? to + 1 : at + 1) {
      const range = isInOnePlace ? [from, to] : [at]
      for (const row of answerOf(() => rows.all(key, ...range))) {
        addRow(lines, key, Number(row[0]), row, 2)
      }
    }
  }
}

/** Adds a row, whose part is at a place, and its numbers behind. By a pattern it would cost a report a third more. */
function addRow(lines: Columns, key: string, at: number, row: Row, place: number): void {
  lines.keys.push(key)
  lines.ats.push(at)
  lines.parts.push(String(row[place]))
  for (let i = place + 1; i < row.length; i++) {
    const number = row[i]
    if (typeof number === 'number') lines.numbers.push(number)
  }
}
