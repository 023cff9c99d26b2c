import { existsSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { isBusy, makePrivate, type Database } from '../../../../shared/sqlite.ts'

/** Locks a file beside the database until closed or until the process ends; `undefined` if another process holds the lock. */
export function claim(database: Database): Database | undefined {
  const file = lockOf(database)
  if (!database.memory) makePrivate(file)
  const lock = new Sqlite(file, { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

/** Whether another process holds the lock of a database. Makes no file. */
export function isClaimed(database: Database): boolean {
  if (!existsSync(lockOf(database))) return false
  const claimed = claim(database)
  claimed?.close()
  return claimed === undefined
}

function lockOf(database: Database): string {
  return database.memory ? ':memory:' : `${database.name}-counting`
}
