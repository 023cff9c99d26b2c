import { existsSync, statSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { Database } from '../../../../shared/sqlite.ts'
import { permissionFault } from './permission.ts'

const tables = ['keys', 'secrets', 'quotas']

/** Throws a sentence unless the file exists and a gateway made it: other programs' files must not get our tables. */
export function requireGatewayFile(file: string): void {
  if (!existsSync(file)) throw new Error(`${file} doesn't exist`)
  if (!statSync(file).isFile()) throw new Error(`${file} isn't a file`)
  if (isGatewayFile(file)) return
  const why = permissionFault(file)
  throw new Error(
    why === undefined ? `${file} isn't a gateway's store` : `${file} can't be used: ${why}`,
  )
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

function isGatewayFile(file: string): boolean {
  try {
    const database = openToInspect(file)
    try {
      const names = database.prepare<[], string>('SELECT name FROM sqlite_master').pluck().all()
      return tables.every((name) => names.includes(name))
    } finally {
      database.close()
    }
  } catch {
    return false
  }
}
