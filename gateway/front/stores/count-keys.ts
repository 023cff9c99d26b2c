import { existsSync } from 'node:fs'
import Sqlite from 'better-sqlite3'

/** The number of keys in a gateway's file; 0 if there is no such file. Creates and changes nothing. */
export function countKeysIn(file: string): number {
  if (!existsSync(file)) return 0
  try {
    const database = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: 100 })
    try {
      return Number(database.prepare('SELECT count(*) FROM keys').pluck().get())
    } finally {
      database.close()
    }
  } catch {
    return 0
  }
}
