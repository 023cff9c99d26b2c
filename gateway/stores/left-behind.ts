import { existsSync } from 'node:fs'
import { connect } from '../../shared/sqlite-pair.ts'

/** How many keys a gateway's file has; 0 if it isn't there, or isn't one. Nothing is made or changed. */
export function keysIn(file: string): number {
  if (!existsSync(file)) return 0
  try {
    const database = connect(file, { readonly: true, fileMustExist: true, timeout: 100 })
    try {
      return Number(database.prepare('SELECT count(*) FROM keys').pluck().get())
    } finally {
      database.close()
    }
  } catch {
    return 0
  }
}
