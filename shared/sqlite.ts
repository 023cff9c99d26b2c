import type Sqlite from 'better-sqlite3'
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { connect, UnfitSqlite } from './sqlite-pair.ts'

export type { Database, Statement } from 'better-sqlite3'

/** How long opening may wait for another process that is opening the same file. */
const openTimeoutMs = 5_000

export type SqliteOptions = Readonly<{
  /** Step n leads from version n to n + 1. Forward only: a step that was released is never edited. */
  migrations: readonly string[]
  /** How long a statement may wait, with the whole process, for another one's lock. */
  busyTimeoutMs: number
}>

/**
 * Opens a file, makes or migrates its tables, and sets it so that a commit is on disk when it
 * returns. Throws an error with a sentence for the operator where that can't be had.
 */
export function openSqlite(file: string, options: SqliteOptions): Sqlite.Database {
  const started = performance.now()
  for (;;) {
    try {
      return open(file, options)
    } catch (error) {
      // SQLite doesn't wait by itself where two processes make the same new file at the same time.
      if (isBusy(error) && performance.now() - started < openTimeoutMs) {
        sleep(10 + Math.random() * 20)
        continue
      }
      if (error instanceof UnfitSqlite) throw error
      const reason = error instanceof Error ? error.message : String(error)
      throw new Error(`the database ${file} can't be used: ${reason}`, { cause: error })
    }
  }
}

/**
 * Makes a file, and what SQLite has put beside it, readable for its owner alone, whatever the umask says: they
 * hold hashes of tokens, names and the audit. A folder that isn't there is made so, one that is stays as it is.
 * SQLite gives what it makes beside the file later the mode of the file.
 */
export function makePrivate(file: string): void {
  const folder = dirname(file)
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(folder, 0o700)
  // Who may not do it is told by SQLite why the file can't be used, or may use it, but is not its owner.
  unlessItFails(() => closeSync(openSync(file, 'ax', 0o600)))
  for (const beside of ['', '-journal', '-wal', '-shm']) {
    unlessItFails(() => chmodSync(file + beside, 0o600))
  }
}

function unlessItFails(act: () => void): void {
  try {
    act()
  } catch {
    // Nothing depends on it.
  }
}

/** Whether SQLite says that another process holds a lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}

/** Whether SQLite can't do something just now: a full disk, a lock held elsewhere. Later it will work. */
export function isTrouble(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return /^SQLITE_(?:BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|NOMEM)/.test(String(error.code))
}

/** The row that a statement always gives. */
export function found<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('SQLite gave no row')
  return row
}

function open(file: string, { migrations, busyTimeoutMs }: SqliteOptions): Sqlite.Database {
  if (file !== ':memory:') makePrivate(file)
  const database = connect(file, { timeout: openTimeoutMs })
  try {
    requireKnownVersion(database, migrations)
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    database.transaction(migrate).immediate(database, migrations)
    database.pragma(`busy_timeout = ${busyTimeoutMs}`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Opening comes before serving, so that nobody waits behind this. */
function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

function migrate(database: Sqlite.Database, migrations: readonly string[]): void {
  const version = requireKnownVersion(database, migrations)
  for (const step of migrations.slice(version)) database.exec(step)
  database.pragma(`user_version = ${migrations.length}`)
}

function requireKnownVersion(database: Sqlite.Database, migrations: readonly string[]): number {
  const version = Number(database.pragma('user_version', { simple: true }))
  if (version <= migrations.length) return version
  throw new Error(
    `it was written by a newer version of this program (its format is ${version}, this program ` +
      `knows up to ${migrations.length}). Install the newer version again.`,
  )
}
