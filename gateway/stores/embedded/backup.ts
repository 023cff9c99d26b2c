import { closeSync, fsyncSync, openSync, statSync } from 'node:fs'
import { connect } from '../../../shared/sqlite-pair.ts'
import { requireGatewayFile } from './belongs.ts'
import { newFile } from './new-file.ts'

/**
 * Writes a gateway's file, as it is at one moment, to another one, journal included; gives how large that is.
 * Nothing of it is changed, not even its format, so that the version that wrote it can read the backup.
 */
export function backupFile(file: string, to: string): number {
  requireGatewayFile(file)
  const written = newFile(to)
  try {
    const database = connect(file, { readonly: true, fileMustExist: true })
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
