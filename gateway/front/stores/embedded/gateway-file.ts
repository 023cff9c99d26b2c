import { existsSync, statSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { formatFault, type Database } from '../../../../shared/sqlite.ts'
import { format } from './database.ts'
import { permissionFault } from './permission.ts'

const tables = ['keys', 'secrets', 'quotas']

const isNone = "isn't a gateway's store"

/** Throws a sentence unless the file exists and a gateway of this format made it: other files must not get our tables. */
export function requireGatewayFile(file: string): void {
  if (!existsSync(file)) throw new Error(`${file} doesn't exist`)
  if (!statSync(file).isFile()) throw new Error(`${file} isn't a file`)
  const fault = faultOf(file)
  if (fault !== undefined) throw new Error(`${file} ${fault}`)
}

/**
 * Opens a file for reading, and leaves it unchanged. Without a journal this needs a connection that may
 * write: one that may only read would leave an empty journal beside the file.
 */
export function openToInspect(file: string): Database {
  const database = new Sqlite(file, { readonly: existsSync(`${file}-wal`), fileMustExist: true })
  database.pragma('query_only = ON')
  return database
}

function faultOf(file: string): string | undefined {
  try {
    const database = openToInspect(file)
    try {
      const names = database.prepare<[], string>('SELECT name FROM sqlite_master').pluck().all()
      if (!tables.every((name) => names.includes(name))) return isNone
      const fault = formatFault(database, format)
      return fault && `can't be used: ${fault}`
    } finally {
      database.close()
    }
  } catch {
    const why = permissionFault(file)
    return why === undefined ? isNone : `can't be used: ${why}`
  }
}
