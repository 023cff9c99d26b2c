import { closeSync, fsyncSync, openSync, statSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { requireGatewayFile } from './gateway-file.ts'
import { newFile } from './new-file.ts'

/** Copies a gateway's file at one moment, journal included, to a new file; gives its size in bytes. */
export function backupFile(file: string, to: string): number {
  requireGatewayFile(file)
  const written = newFile(to)
  try {
    const database = new Sqlite(file, { readonly: true, fileMustExist: true })
    try {
      database.prepare('VACUUM INTO ?').run(written.path)
    } finally {
      database.close()
    }
    const descriptor = openSync(written.path, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
    const { size } = statSync(written.path)
    written.putInPlace()
    return size
  } catch (error) {
    written.discard()
    throw error
  }
}
