import Sqlite from 'better-sqlite3'
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

export type { Database, Statement } from 'better-sqlite3'

/** The longest that opening waits for another process that is opening the same file. */
const openTimeoutMs = 5_000

export type SqliteOptions = Readonly<{
  /** The statements that make the tables in a new file. */
  tables: string
  /** The number of their layout. A file of another one is refused. */
  format: number
  /** The longest that a statement, and with it the whole process, waits for another process's lock. */
  busyTimeoutMs: number
}>

/**
 * Opens a file, makes the tables of a new one, and makes commits durable when they return. Throws an error with a sentence
 * for the operator if that fails.
 */
export function openSqlite(file: string, options: SqliteOptions): Sqlite.Database {
  const started = performance.now()
  for (;;) {
    try {
      return open(file, options)
    } catch (error) {
      // SQLite itself doesn't wait if two processes create the same file at the same time.
      if (isBusy(error) && performance.now() - started < openTimeoutMs) {
        sleep(10 + Math.random() * 20)
        continue
      }
      // A binary that can't be loaded is told by many lines.
      const [reason] = String(error instanceof Error ? error.message : error).split('\n')
      throw new Error(`the database ${file} can't be used: ${reason}`, { cause: error })
    }
  }
}

/**
 * Makes a file, and SQLite's files beside it, readable for its owner alone, whatever the umask is: they hold hashes of
 * tokens, names and the audit. A missing folder is created so; an existing one stays as it is. Files that SQLite creates
 * later get the mode of the database.
 */
export function makePrivate(file: string): void {
  const folder = dirname(file)
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(folder, 0o700)
  // A failure is ignored: the file may belong to another user and still be usable; otherwise SQLite reports it.
  ignoringErrors(() => closeSync(openSync(file, 'ax', 0o600)))
  for (const ending of ['', '-journal', '-wal', '-shm']) {
    ignoringErrors(() => chmodSync(file + ending, 0o600))
  }
}

function ignoringErrors(act: () => void): void {
  try {
    act()
  } catch {
    // Nothing depends on its success.
  }
}

/** Whether SQLite says that another process holds a lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}

/** Whether SQLite fails for a reason that passes, such as a lock of another process or a full disk. */
export function isTrouble(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return /^SQLITE_(?:BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|NOMEM)/.test(String(error.code))
}

/** The row of a statement that always gives one. */
export function rowOf<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('SQLite gave no row')
  return row
}

function open(file: string, { tables, format, busyTimeoutMs }: SqliteOptions): Sqlite.Database {
  if (file !== ':memory:') makePrivate(file)
  const database = new Sqlite(file, { timeout: openTimeoutMs })
  try {
    // In one step: another process may make the tables meanwhile.
    const fault = database.transaction(formatFault).deferred(database, format)
    if (fault !== undefined) throw new Error(fault)
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    database.transaction(makeTables).immediate(database, tables, format)
    database.pragma(`busy_timeout = ${busyTimeoutMs}`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Blocks the process; used only while opening, before anything is served. */
function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

/** What to do about a file of another format; `undefined` if it has this one, or is new. Changes nothing. */
export function formatFault(database: Sqlite.Database, format: number): string | undefined {
  const found = Number(database.pragma('user_version', { simple: true }))
  if (found === format || (found === 0 && isEmpty(database))) return undefined
  return (
    `it has format ${found}, and this version of the program knows format ${format} alone: start the version that wrote ` +
    'it, or name another file'
  )
}

function makeTables(database: Sqlite.Database, tables: string, format: number): void {
  // Another process may have made them meanwhile.
  if (isEmpty(database)) database.exec(`${tables} PRAGMA user_version = ${format}`)
}

function isEmpty(database: Sqlite.Database): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined
}
