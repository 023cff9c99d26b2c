import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { intactKeyFrom, keyFrom, recordOf } from '../../keys/record.ts'
import type { Key, StoredKey } from '../../keys/key.ts'
import type { KeyStore, Named } from '../../keys/store.ts'
import { answerOf, unavailable } from './answer.ts'
import { lineOfRecord, pageBy, type KeyIndex } from '../key-index.ts'
import { lineOf } from '../../keys/line.ts'
import { Clash, keyAdder, versionsIn } from './add-keys.ts'
import { linesIn } from './key-index.ts'
import { breathe } from '../../../../shared/breathe.ts'
import { isThere } from './is-there.ts'
import { FileWatch } from './watch-keys.ts'

type Row = { id: string; version: number; record: string }

const batchSize = 2_000

/** Keys that are read by id in one turn of the loop. */
const idsAtOnce = 200

/** A store of keys with its index, which can be brought up to date before anybody asks for a page. */
export type IndexedKeys = KeyStore & Readonly<{ index: KeyIndex }>

/** Keys in a SQLite file, which several processes may have open. */
export function embeddedKeys(database: Database, clock: Clock = Date.now): IndexedKeys {
  const find = database.prepare<string, Row>(
    `SELECT keys.* FROM secrets JOIN keys ON keys.id = secrets.keyId
     WHERE secrets.hash = ? AND ${isThere}`,
  )
  const get = database.prepare<string, Row>(`SELECT * FROM keys WHERE id = ? AND ${isThere}`)
  const nameOf = database.prepare<string, { id: string; name: string; test: 1 | 0 | null }>(
    `SELECT id, record ->> 'name' AS name, record ->> 'test' AS test FROM keys WHERE id = ? AND json_valid(record) AND ${isThere}`,
  )
  const page = database.prepare<[string, number], Row>(
    `SELECT * FROM keys WHERE id > ? AND ${isThere} ORDER BY id LIMIT ?`,
  )
  const hashesAfter = database
    .prepare<[string, number], string>(
      'SELECT hash FROM secrets WHERE hash > ? ORDER BY hash LIMIT ?',
    )
    .pluck()
  const insertSecret = database.prepare('INSERT OR IGNORE INTO secrets VALUES (?, ?)')
  const ownSecret = database.prepare('SELECT 1 FROM secrets WHERE hash = ? AND keyId = ?').pluck()
  const update = database.prepare('UPDATE keys SET version = ?, record = ? WHERE id = ?')
  const watches = new Set<FileWatch>()

  const lines = linesIn(database)
  const add = keyAdder(database, clock, lines)
  const nextVersion = versionsIn(database, clock)

  const replaceOne = database.transaction((key: Key, version: number): boolean => {
    const before = get.get(key.id)
    if (before?.version !== version) return false
    const next = nextVersion()
    lines.note(next)
    lines.replace(lineOfRecord(key.id, before.record), lineOf(key))
    update.run(next, recordOf(key), key.id)
    for (const { hash } of key.secrets) {
      if (ownSecret.get(hash, key.id)) continue
      if (insertSecret.run(hash, key.id).changes === 0) throw new Clash(0)
    }
    return true
  })

  /** Tells this process's watches of its own change, which doesn't move the file's version. */
  const tellWatches = (): void => watches.forEach((watch) => watch.readOwnChange())

  return {
    find: (hash) => storedFrom(answerOf(() => find.get(hash))),
    get: (id) => storedFrom(answerOf(() => get.get(id))),

    async *list() {
      for (let rows = answerOf(() => page.all('', batchSize)); rows.length > 0;) {
        for (const { record } of rows) {
          const key = intactKeyFrom(record)
          if (key) yield key
        }
        const last = rows.at(-1)?.id ?? ''
        rows = answerOf(() => page.all(last, batchSize))
        await breathe()
      }
    },

    page: (query) => pageBy(lines, query),

    index: lines,

    async *named(ids) {
      for (let start = 0; start < ids.length; start += idsAtOnce) {
        const some = ids.slice(start, start + idsAtOnce)
        yield answerOf(() => some.flatMap((id) => namedFrom(nameOf.get(id))))
        await breathe()
      }
    },

    async *names() {
      for (let page = answerOf(() => hashesAfter.all('', batchSize)); page.length > 0;) {
        yield page
        const last = page.at(-1) ?? ''
        page = answerOf(() => hashesAfter.all(last, batchSize))
        await breathe()
      }
    },

    async add(keys, progress) {
      const added = await add(keys, progress).catch((error: unknown) => {
        throw unavailable(error)
      })
      if (added.clash === undefined) tellWatches()
      return added
    },

    async replace(key, version) {
      const replaced = answerOf(() => replaceOne.immediate(key, version))
      if (replaced) tellWatches()
      return Promise.resolve(replaced)
    },

    watch(listener) {
      const closed = (): void => void watches.delete(watch)
      const watch = new FileWatch({ database, clock, listener, closed })
      watches.add(watch)
      return watch
    },

    close() {
      database.close()
      return Promise.resolve()
    },
  }
}

function storedFrom(row: Row | undefined): StoredKey | undefined {
  return row && stored(row)
}

function stored({ record, version }: Row): StoredKey {
  return { key: keyFrom(record), version }
}

function namedFrom(row: { id: string; name: string; test: 1 | 0 | null } | undefined): Named[] {
  if (!row) return []
  const { id, name, test } = row
  return [test ? { id, name, test: true } : { id, name }]
}
