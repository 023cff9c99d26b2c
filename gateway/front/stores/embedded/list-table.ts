import type { List } from '../../shelves/lists.ts'

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
