import { openSqlite, type Database } from '../../../shared/sqlite.ts'

/** The tables of the gateway's file, step by step from an empty one. */
export const migrations: readonly string[] = [
  `CREATE TABLE keys (
     id TEXT PRIMARY KEY,
     version INTEGER NOT NULL UNIQUE,
     record TEXT NOT NULL
   ) STRICT;
   CREATE TABLE secrets (
     hash TEXT PRIMARY KEY,
     keyId TEXT NOT NULL REFERENCES keys (id)
   ) STRICT, WITHOUT ROWID;`,
]

/** How long a change may wait for another process that is changing the same file. */
const busyTimeoutMs = 100

export function openGatewayFile(file: string): Database {
  return openSqlite(file, { migrations, busyTimeoutMs })
}
