import type { Database } from '../../../../shared/sqlite.ts'

/** Callers wait for it, and a day that has become too old has a row or more for each key. */
const rowsAtOnce = 500

export type OldRows = Readonly<{
  table: string
  /** The columns that tell a row from others. */
  key: string
  /** The condition of a row that is too old, with one parameter; an index must find such rows. */
  isOld: string
}>

/** Makes what removes rows that are too old, some with each call, and tells whether there may be more. */
export function oldRows(database: Database, { table, key, isOld }: OldRows) {
  return removing(database, table, key, `${table} WHERE ${isOld}`)
}

/** The same for rows in the order in which they were added: the first ones are looked at, and the others not even read. */
export function oldestRows(database: Database, table: string, atColumn: string) {
  const first = `SELECT seq, ${atColumn} FROM ${table} ORDER BY seq LIMIT ${rowsAtOnce}`
  return removing(database, table, 'seq', `(${first}) WHERE ${atColumn} < ?`)
}

function removing(database: Database, table: string, key: string, rows: string) {
  const remove = database.prepare<[number]>(
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${rows} LIMIT ${rowsAtOnce})`,
  )
  return (limit: number): boolean => remove.run(limit).changes === rowsAtOnce
}
