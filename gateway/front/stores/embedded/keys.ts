import { breathe } from '../../../../shared/breathe.ts'
import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { intactKeyFrom, keyFrom, type Key, type StoredKey } from '../../keys/key.ts'
import { lineOf } from '../../keys/line.ts'
import type { Keys, Named } from '../../keys/store.ts'
import { lineOfRecord, pageBy, type IndexedKeys } from '../key-index.ts'
import { Clash, keyAdder, versionsIn } from './add-keys.ts'
import { answerOf, promiseOf, unavailable } from './answer.ts'
import { linesIn } from './key-index.ts'
import { watchKeys, type FileWatch } from './watch-keys.ts'
import { isThere } from './database.ts'

type Row = { id: string; version: number; record: string }
type NameRow = { id: string; name: string; reference: string | null; test: 1 | 0 | null }

const batchSize = 2_000

/** Keys that are read by id in one turn of the loop. */
const idsAtOnce = 200

/** Keys in a SQLite file, which several processes may have open. */
export function embeddedKeys(database: Database, clock: Clock = Date.now) {
  const { find, get, nameOf, page, hashesAfter, ...changes } = statementsOf(database)
  const index = linesIn(database)
  const nextVersion = versionsIn(database, clock)
  const addAll = keyAdder(database, clock, index)
  const watches = new Set<FileWatch>()

  /** Tells this process's watches of its own change, which doesn't move the file's version. */
  const tellWatches = (): void => watches.forEach((watch) => watch.readOwnChange())

  const replace = database.transaction((key: Key, version: number) => {
    const before = get.get(key.id)
    if (before?.version !== version) return false
    const next = nextVersion()
    index.note(next)
    index.replace(lineOfRecord(key.id, before.record), lineOf(key))
    changes.update.run(next, JSON.stringify(key), key.id)
    for (const { hash } of key.secrets) {
      if (changes.ownSecret.get(hash, key.id)) continue
      if (changes.insertSecret.run(hash, key.id).changes === 0) throw new Clash(0)
    }
    return true
  })

  const remove = database.transaction(({ key, version }: StoredKey) => {
    const before = get.get(key.id)
    if (before?.version !== version) return false
    changes.removeLine.run(lineOfRecord(key.id, before.record))
    changes.remove.run(key.id)
    changes.removeUses.run(key.id)
    return true
  })

  return {
    index,
    find: (hash) => storedFrom(answerOf(() => find.get(hash))),
    get: (id) => storedFrom(answerOf(() => get.get(id))),

    async *list() {
      for await (const rows of pagesOf(
        (after) => page.all(after, batchSize),
        ({ id }) => id,
      )) {
        for (const { record } of rows) {
          const key = intactKeyFrom(record)
          if (key) yield key
        }
      }
    },

    page: (query) => pageBy(index, query),

    async *named(ids) {
      for (let start = 0; start < ids.length; start += idsAtOnce) {
        const some = ids.slice(start, start + idsAtOnce)
        yield answerOf(() => some.flatMap((id) => namedFrom(nameOf.get(id))))
        await breathe()
      }
    },

    names: () =>
      pagesOf(
        (after) => hashesAfter.all(after, batchSize),
        (hash) => hash,
      ),

    async add(keys: Keys, progress?: (written: number) => void) {
      const added = await addAll(keys, progress).catch((error: unknown) => {
        throw unavailable(error)
      })
      if (added.clash === undefined) tellWatches()
      return added
    },

    async replace(key, version) {
      const isReplaced = await promiseOf(() => replace.immediate(key, version))
      if (isReplaced) tellWatches()
      return isReplaced
    },

    remove: (stored) => promiseOf(() => remove.immediate(stored)),

    watch(listener) {
      const watch = watchKeys(database, clock, listener, (closed) => watches.delete(closed))
      watches.add(watch)
      return watch
    },

    close() {
      database.close()
      return Promise.resolve()
    },
  } satisfies IndexedKeys
}

/** All rows in the order of a text of each, some at a time. */
async function* pagesOf<Row>(
  read: (after: string) => readonly Row[],
  textOf: (row: Row) => string,
): AsyncGenerator<readonly Row[]> {
  let rows = answerOf(() => read(''))
  for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    yield rows
    const after = textOf(last)
    rows = answerOf(() => read(after))
    await breathe()
  }
}

function statementsOf(database: Database) {
  return {
    find: database.prepare<string, Row>(
      `SELECT keys.* FROM secrets JOIN keys ON keys.id = secrets.keyId
       WHERE secrets.hash = ? AND ${isThere}`,
    ),
    get: database.prepare<string, Row>(`SELECT * FROM keys WHERE id = ? AND ${isThere}`),
    nameOf: database.prepare<string, NameRow>(
      `SELECT id, record ->> 'name' AS name, record ->> 'reference' AS reference, record ->> 'test' AS test FROM keys WHERE id = ? AND json_valid(record) AND ${isThere}`,
    ),
    page: database.prepare<[string, number], Row>(
      `SELECT * FROM keys WHERE id > ? AND ${isThere} ORDER BY id LIMIT ?`,
    ),
    hashesAfter: database
      .prepare<[string, number], string>(
        'SELECT hash FROM secrets WHERE hash > ? ORDER BY hash LIMIT ?',
      )
      .pluck(),
    insertSecret: database.prepare('INSERT OR IGNORE INTO secrets VALUES (?, ?)'),
    ownSecret: database.prepare('SELECT 1 FROM secrets WHERE hash = ? AND keyId = ?').pluck(),
    remove: database.prepare('DELETE FROM keys WHERE id = ?'),
    removeLine: database.prepare('DELETE FROM lines WHERE line = ?'),
    removeUses: database.prepare('DELETE FROM lastUses WHERE key = ?'),
    update: database.prepare('UPDATE keys SET version = ?, record = ? WHERE id = ?'),
  }
}

function storedFrom(row: Row | undefined): StoredKey | undefined {
  return row && { key: keyFrom(row.record), version: row.version }
}

function namedFrom(row: NameRow | undefined): Named[] {
  if (!row) return []
  const { id, name, reference, test } = row
  return [{ id, name, ...(reference !== null && { reference }), ...(test && { test: true }) }]
}
