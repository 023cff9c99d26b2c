import { closeSync, fsyncSync, openSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { requireGatewayFile } from './gateway-file.ts'
import { newFile } from './new-file.ts'

/** Copies a gateway's file at one moment, journal included, to a new file; gives the number of its keys. */
export function backupFile(file: string, to: string): number {
  requireGatewayFile(file)
  const written = newFile(to)
  let database: Sqlite.Database | undefined
  try {
    database = new Sqlite(file, { readonly: true, fileMustExist: true })
    database.prepare('VACUUM INTO ?').run(written.path)
    database.prepare('ATTACH ? AS copy').run(written.path)
    const keys = Number(database.prepare('SELECT count(*) FROM copy.keys').pluck().get())
    database.close()
    const descriptor = openSync(written.path, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
    written.putInPlace()
    return keys
  } catch (error) {
    database?.close()
    written.discard()
    throw error
  }
}
