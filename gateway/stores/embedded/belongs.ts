import { existsSync, statSync } from 'node:fs'
import { connect } from '../../../shared/sqlite-pair.ts'
import type { Database } from '../../../shared/sqlite.ts'
import { permissionFault } from './permission.ts'

const tables = ['keys', 'secrets', 'quotas']

/** Throws a sentence unless a file is there and a gateway has made it: another program's must not get our tables. */
export function requireGatewayFile(file: string): void {
  if (!existsSync(file)) throw new Error(`there is no file ${file}`)
  if (!statSync(file).isFile()) throw new Error(`${file} is no file`)
  if (isGatewayFile(file)) return
  const why = permissionFault(file)
  throw new Error(
    why === undefined ? `${file} is no store of a gateway` : `${file} can't be used: ${why}`,
  )
}

/**
 * Opens a file to look into it; closed again, it is as it was. If nothing of it is in a journal, that takes more than
 * a connection that may only read, which would leave an empty journal beside it.
 */
export function lookInto(file: string): Database {
  const database = connect(file, { readonly: existsSync(`${file}-wal`), fileMustExist: true })
  database.pragma('query_only = ON')
  return database
}

function isGatewayFile(file: string): boolean {
  try {
    const database = lookInto(file)
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
