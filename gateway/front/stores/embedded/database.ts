import { openSqlite, type Database } from '../../../../shared/sqlite.ts'
import { countSpaces, gatewayLists } from '../records.ts'
import { tableOf } from './count-table.ts'
import type { List } from '../../shelves/lists.ts'
import { permissionFault } from './permission.ts'

/** The layout of a gateway's file: a changed one takes the next number. */
export const format = 29

const tables = `
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL UNIQUE,
    record TEXT NOT NULL
  ) STRICT;
  CREATE TABLE secrets (
    hash TEXT PRIMARY KEY,
    keyId TEXT NOT NULL REFERENCES keys (id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE quotas (
    quota TEXT PRIMARY KEY,
    keepUntilMs INTEGER NOT NULL,
    state TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX quotasByEnd ON quotas (keepUntilMs);
  CREATE TABLE commands (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    atMs INTEGER NOT NULL,
    what TEXT NOT NULL,
    quota TEXT NOT NULL,
    key TEXT NOT NULL,
    untilMs INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE commandsDone (seq INTEGER NOT NULL) STRICT;
  INSERT INTO commandsDone VALUES (0);
  CREATE TABLE topUps (quota TEXT PRIMARY KEY, lines TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    states TEXT NOT NULL
  ) STRICT;
  CREATE TABLE imports (owner TEXT NOT NULL, aliveAtMs INTEGER NOT NULL) STRICT;
  CREATE TABLE pending (
    firstVersion INTEGER PRIMARY KEY,
    lastVersion INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE batches (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE
  ) STRICT;
  CREATE TABLE lastUses (
    key TEXT PRIMARY KEY,
    uses TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE lines (line TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE lined (version INTEGER NOT NULL) STRICT;
  INSERT INTO lined VALUES (0);
  CREATE TABLE documents (
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    untilMs INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (folder, name)
  ) STRICT;
  CREATE INDEX documentsByEnd ON documents (untilMs);
  CREATE TABLE store (epoch TEXT NOT NULL) STRICT;
  INSERT INTO store VALUES (lower(hex(randomblob(16))));
  CREATE TABLE recentRefusals (
    by TEXT NOT NULL,
    place INTEGER NOT NULL,
    lastMs INTEGER NOT NULL,
    count INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    answers BLOB NOT NULL,
    PRIMARY KEY (by, place)
  ) STRICT;
  CREATE INDEX recentRefusalsByTime ON recentRefusals (lastMs, count);
  ${countSpaces.map(tableOf).join('\n')}
  ${gatewayLists.map(listTable).join('\n')}`

/** How long a change may wait for the lock of another process. */
const busyTimeoutMs = 100

/**
 * SQLite's cache for each connection in KiB. With its default of 2,000 a gateway with 100,000 keys takes
 * 15 MB more, and finds none of a million keys sooner: a look-up takes 9.5 µs either way.
 */
const cacheKb = 256

/** Writes without waiting for the disk, what may be lost in a power cut or is written again with a later sync. */
export function withoutSync<Result>(database: Database, write: () => Result): Result {
  return writing(database, 'NORMAL', write)
}

function writing<Result>(database: Database, sync: string, write: () => Result): Result {
  const before = Number(database.pragma('synchronous', { simple: true }))
  if (before <= 1) return write()
  database.pragma(`synchronous = ${sync}`)
  try {
    return write()
  } finally {
    database.pragma(`synchronous = ${before}`)
  }
}

/** Writes what is to be on the disk when it is said to be written. */
export function withSync<Result>(database: Database, write: () => Result): Result {
  return writing(database, 'FULL', write)
}

/** The rest between two steps of a long change. A gateway that waits for the lock looks every few ms, and holds callers up. */
const restMs = 2

/** Lets other connections write between two steps. */
export function othersWrite(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, restMs))
}

/** Opens a gateway's file; throws a sentence for the operator if that fails. */
export function openGatewayFile(file: string): Database {
  try {
    const database = openSqlite(file, { tables, format, busyTimeoutMs })
    database.pragma(`cache_size = -${cacheKb}`)
    // To remove a key, SQLite would read all secrets for one that refers to it: minutes for an import of 100,000 keys.
    database.pragma('foreign_keys = OFF')
    return database
  } catch (error) {
    const why = file === ':memory:' ? undefined : permissionFault(file)
    if (why === undefined) throw error
    throw new Error(`the database ${file} can't be used: ${why}`, { cause: error })
  }
}

/** The table of a list: a row an entry, in their order. */
export function listTable({ name }: List): string {
  return `CREATE TABLE IF NOT EXISTS list_${name} (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    atMs INTEGER NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS list_${name}_by_key ON list_${name} (key, seq);`
}

/** For a `WHERE`: the key doesn't belong to an unfinished import. */
export const isThere = `coalesce(
  (SELECT lastVersion FROM pending WHERE firstVersion <= keys.version
   ORDER BY firstVersion DESC LIMIT 1), 0) < keys.version`
