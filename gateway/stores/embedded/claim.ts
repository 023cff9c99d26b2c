import { connect } from '../../../shared/sqlite-pair.ts'
import { isBusy, type Database } from '../../../shared/sqlite.ts'

/** Holds a lock beside the file for as long as this process lives; nothing if another one does. */
export function claim(database: Database): Database | undefined {
  const beside = connect(database.memory ? ':memory:' : `${database.name}-counting`, {
    timeout: 0,
  })
  try {
    beside.exec('BEGIN EXCLUSIVE')
    return beside
  } catch (error) {
    beside.close()
    if (isBusy(error)) return undefined
    throw error
  }
}
