import { openSqlite, type Database } from '../shared/sqlite.ts'

/** The layout of the file: a changed one takes the next number. */
const format = 2

const tables = `
  CREATE TABLE pets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    categoryId INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'available' CHECK (status IN ('available', 'pending', 'sold'))
  ) STRICT;
  CREATE INDEX petsByStatus ON pets (status, id);
  CREATE TABLE orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    petId INTEGER NOT NULL,
    createdAt TEXT NOT NULL
  ) STRICT;`

/** Opens the animal store's file. SQLite doesn't wait for locks, because the whole process would stand still. */
export function openDatabase(file: string): Database {
  return openSqlite(file, { tables, format, busyTimeoutMs: 0 })
}
