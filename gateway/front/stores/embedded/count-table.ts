import type { Database } from '../../../../shared/sqlite.ts'
import type { CountLine, Space } from '../../shelves/counts.ts'
import { oldRows } from './old-rows.ts'

/** Lines of a key that are too many are looked for at one time of this many. */
const trimEvery = 30

/** Names of keys that are looked at in one turn of the loop. */
export const keysAtOnce = 250

/** The columns that tell a row from others: reports on all keys read a time, and the others a key. */
export function orderOf({ readBy }: Space): string {
  return readBy === 'key' ? 'key, at, part' : 'at, key, part'
}

/** The columns of the numbers of a line. */
export function columnsOf({ merge }: Space): string[] {
  return merge.map((_, i) => `n${i}`)
}

/**
 * The table of a space: a row a line, in an order in which writes touch few pages. Keys of `whole` spaces have numbers there,
 * because their names are longer than the row.
 */
export function tableOf(space: Space): string {
  const { name, readBy } = space
  const isWhole = readBy === 'whole'
  const numbers = columnsOf(space).map((column) => `${column} INTEGER NOT NULL, `)
  const keys = `CREATE TABLE IF NOT EXISTS counts_${name}_keys (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    last INTEGER NOT NULL
  ) STRICT;`
  const byTime = `CREATE INDEX IF NOT EXISTS counts_${name}_by_time ON counts_${name} (at);`
  return `CREATE TABLE IF NOT EXISTS counts_${name} (
    at INTEGER NOT NULL,
    key ${isWhole ? 'INTEGER' : 'TEXT'} NOT NULL,
    part TEXT NOT NULL,
    ${numbers.join('')}
    PRIMARY KEY (${orderOf(space)})
  ) STRICT, WITHOUT ROWID;
  ${isWhole ? keys : readBy === 'key' ? byTime : ''}`
}

/** Makes the function that adds a line to the table of a space. */
export function lineAdder(database: Database, space: Space): (line: CountLine) => void {
  const { name, merge, readBy } = space
  const merged = columnsOf(space).map((column, i) => {
    if (merge[i] === 'max') return `${column} = max(${column}, excluded.${column})`
    return `${column} = ${merge[i] === 'sum' ? `${column} + ` : ''}excluded.${column}`
  })
  const conflict = `ON CONFLICT DO UPDATE SET ${merged.join(', ')}`
  const marks = merge.map(() => ', ?').join('')
  if (readBy !== 'whole') {
    const insert = database.prepare(
      `INSERT INTO counts_${name} VALUES (?, ?, ?${marks}) ${conflict}`,
    )
    return ({ at, key, part, numbers }) => void insert.run(at, key, part, ...numbers)
  }
  const insert = database.prepare(
    `INSERT INTO counts_${name} SELECT ?, id, ?${marks}
     FROM counts_${name}_keys WHERE key = ? AND last >= ? ${conflict}`,
  )
  const keep = database.prepare(
    `INSERT INTO counts_${name}_keys (key, last) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET last = max(last, excluded.last)`,
  )
  return ({ at, key, part, numbers }) => {
    const row = [at, part, ...numbers, key, at]
    if (insert.run(row).changes > 0) return
    keep.run(key, at)
    insert.run(row)
  }
}

/** Makes what deletes rows that are too old or too many, some with each call, after lines were added. */
export function rowForgetter(
  database: Database,
  space: Space,
): (added: readonly CountLine[]) => void {
  const { name, kept, readBy, mostOfKey } = space
  const table = `counts_${name}`
  const forgetOld = oldRows(database, { table, key: orderOf(space), isOld: 'at <= ?' })
  const forgetNames = readBy === 'whole' ? unusedNames(database, space) : undefined
  const trim =
    mostOfKey &&
    database.prepare<{ key: string }>(
      `DELETE FROM ${table} WHERE key = @key AND at <
       (SELECT at FROM ${table} WHERE key = @key ORDER BY at DESC LIMIT 1 OFFSET ${mostOfKey - 1})`,
    )
  return (added) => {
    if (trim) for (const { key, at } of added) if (at % trimEvery === 0) trim.run({ key })
    const limit = Math.max(...added.map(({ at }) => at)) - kept
    const areMoreLeft = forgetOld(limit)
    if (!areMoreLeft) forgetNames?.(limit)
  }
}

/** Makes what removes names of keys that were last used at a time or before, some with each call, and each time once. */
function unusedNames(database: Database, { name }: Space): (at: number) => void {
  const highest = highestId(database, name)
  const remove = database.prepare<[number, number, number]>(
    `DELETE FROM counts_${name}_keys WHERE id BETWEEN ? AND ? AND last <= ?`,
  )
  let [done, nextId] = [0, 1]
  return (at) => {
    if (at > done) [done, nextId] = [at, 1]
    if (nextId > highest()) return
    remove.run(nextId, nextId + keysAtOnce - 1, done)
    nextId += keysAtOnce
  }
}

/** Makes what tells the highest number of a key. */
export function highestId(database: Database, name: string): () => number {
  const highest = database
    .prepare<[], number | null>(`SELECT max(id) FROM counts_${name}_keys`)
    .pluck()
  return () => highest.get() ?? 0
}
