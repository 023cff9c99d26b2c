import { connect } from '../../../shared/sqlite-pair.ts'
import { isBusy, makePrivate, type Database } from '../../../shared/sqlite.ts'

/** Holds a lock beside the file for as long as this process lives; nothing if another one does. */
export function claim(database: Database): Database | undefined {
  const file = database.memory ? ':memory:' : `${database.name}-counting`
  if (!database.memory) makePrivate(file)
  const beside = connect(file, { timeout: 0 })
  try {
    beside.exec('BEGIN EXCLUSIVE')
    return beside
  } catch (error) {
    beside.close()
    if (isBusy(error)) return undefined
    throw error
  }
}
