import Database from 'better-sqlite3'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

export type { Database, Statement } from 'better-sqlite3'

/** How long opening may wait for another process that is opening the same file. */
const openTimeoutMs = 5_000

/** Step n leads from version n to n + 1. Forward only: a step that was released is never edited. */
export const migrations: readonly string[] = [
  `CREATE TABLE pets (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     name TEXT NOT NULL,
     categoryId INTEGER NOT NULL,
     status TEXT NOT NULL DEFAULT 'available' CHECK (status IN ('available', 'pending', 'sold'))
   ) STRICT;`,
  `CREATE INDEX petsByStatus ON pets (status, id);
   CREATE TABLE orders (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     petId INTEGER NOT NULL,
     createdAt TEXT NOT NULL
   ) STRICT;`,
]

/**
 * Opens the animal store's file, makes or migrates its tables, and sets it so that a commit is on
 * disk when it returns. Throws an error with a sentence for the operator where that can't be had.
 */
export function openDatabase(file: string): Database.Database {
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true })
  const database = new Database(file, { timeout: openTimeoutMs })
  try {
    requireKnownVersion(database, file)
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    database.transaction(() => migrate(database, file)).immediate()
    // From here on nobody waits inside SQLite, where the whole process would stand still.
    database.pragma('busy_timeout = 0')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** The row that a statement always gives. */
export function found<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('SQLite gave no row')
  return row
}

function migrate(database: Database.Database, file: string): void {
  const version = requireKnownVersion(database, file)
  for (const step of migrations.slice(version)) database.exec(step)
  database.pragma(`user_version = ${migrations.length}`)
}

function requireKnownVersion(database: Database.Database, file: string): number {
  const version = Number(database.pragma('user_version', { simple: true }))
  if (version > migrations.length) {
    throw new Error(
      `${file} was written by a newer version of this program (its format is ${version}, ` +
        `this program knows up to ${migrations.length}). Install the newer version again.`,
    )
  }
  return version
}
