import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { intactKeyFrom, keyFrom, recordOf } from '../../keys/record.ts'
import type { Key, StoredKey } from '../../keys/key.ts'
import type {
  Added,
  KeyListener,
  KeyPage,
  KeyStore,
  Named,
  PageQuery,
  Watch,
} from '../../keys/store.ts'
import { answerOf, unavailable } from './answer.ts'
import { lineOfRecord, pageBy, type KeyIndex } from '../key-index.ts'
import { lineOf } from '../../keys/line.ts'
import { Clash, keyAdder, versionsIn } from './add-keys.ts'
import { Lines } from './key-index.ts'
import { breathe } from '../../../../shared/breathe.ts'
import { isThere } from './is-there.ts'
import { FileWatch } from './watch-keys.ts'

type Row = { id: string; version: number; record: string }
type NameRow = { id: string; name: string; reference: string | null; test: 1 | 0 | null }

const batchSize = 2_000

/** Keys that are read by id in one turn of the loop. */
const idsAtOnce = 200

/** A store of keys with its index, which can be brought up to date before anybody asks for a page. */
export type IndexedKeys = KeyStore & Readonly<{ index: KeyIndex }>

/** Keys in a SQLite file, which several processes may have open. */
export class EmbeddedKeys implements IndexedKeys {
  readonly index: Lines
  readonly #database: Database
  readonly #clock: Clock
  readonly #statements: ReturnType<typeof statementsOf>
  readonly #nextVersion: () => number
  readonly #add: ReturnType<typeof keyAdder>
  readonly #watches = new Set<FileWatch>()

  constructor(database: Database, clock: Clock = Date.now) {
    this.#database = database
    this.#clock = clock
    this.#statements = statementsOf(database)
    this.#nextVersion = versionsIn(database, clock)
    this.index = new Lines(database)
    this.#add = keyAdder(database, clock, this.index)
  }

  find(hash: string): StoredKey | undefined {
    return storedFrom(answerOf(() => this.#statements.find.get(hash)))
  }

  get(id: string): StoredKey | undefined {
    return storedFrom(answerOf(() => this.#statements.get.get(id)))
  }

  async *list(): AsyncGenerator<Key> {
    const { page } = this.#statements
    for (let rows = answerOf(() => page.all('', batchSize)); rows.length > 0;) {
      for (const { record } of rows) {
        const key = intactKeyFrom(record)
        if (key) yield key
      }
      const last = rows.at(-1)?.id ?? ''
      rows = answerOf(() => page.all(last, batchSize))
      await breathe()
    }
  }

  page(query: PageQuery): Promise<KeyPage> {
    return pageBy(this.index, query)
  }

  async *named(ids: readonly string[]): AsyncGenerator<readonly Named[]> {
    const { nameOf } = this.#statements
    for (let start = 0; start < ids.length; start += idsAtOnce) {
      const some = ids.slice(start, start + idsAtOnce)
      yield answerOf(() => some.flatMap((id) => namedFrom(nameOf.get(id))))
      await breathe()
    }
  }

  async *names(): AsyncGenerator<readonly string[]> {
    const { hashesAfter } = this.#statements
    for (let page = answerOf(() => hashesAfter.all('', batchSize)); page.length > 0;) {
      yield page
      const last = page.at(-1) ?? ''
      page = answerOf(() => hashesAfter.all(last, batchSize))
      await breathe()
    }
  }

  async add(keys: readonly Key[], progress?: (written: number) => void): Promise<Added> {
    const added = await this.#add(keys, progress).catch((error: unknown) => {
      throw unavailable(error)
    })
    if (added.clash === undefined) this.#tellWatches()
    return added
  }

  async replace(key: Key, version: number): Promise<boolean> {
    const replace = this.#database.transaction(() => this.#replace(key, version))
    const replaced = answerOf(() => replace.immediate())
    if (replaced) this.#tellWatches()
    return Promise.resolve(replaced)
  }

  async remove({ key, version }: StoredKey): Promise<boolean> {
    const { get, removeLine, remove, removeUses } = this.#statements
    const removed = this.#database.transaction(() => {
      const before = get.get(key.id)
      if (before?.version !== version) return false
      removeLine.run(lineOfRecord(key.id, before.record))
      remove.run(key.id)
      removeUses.run(key.id)
      return true
    })
    return Promise.resolve(answerOf(() => removed.immediate()))
  }

  watch(listener: KeyListener): Watch {
    const closed = (): void => void this.#watches.delete(watch)
    const [database, clock] = [this.#database, this.#clock]
    const watch = new FileWatch({ database, clock, listener, closed })
    this.#watches.add(watch)
    return watch
  }

  close(): Promise<void> {
    this.#database.close()
    return Promise.resolve()
  }

  #replace(key: Key, version: number): boolean {
    const { get, update, ownSecret, insertSecret } = this.#statements
    const before = get.get(key.id)
    if (before?.version !== version) return false
    const next = this.#nextVersion()
    this.index.note(next)
    this.index.replace(lineOfRecord(key.id, before.record), lineOf(key))
    update.run(next, recordOf(key), key.id)
    for (const { hash } of key.secrets) {
      if (ownSecret.get(hash, key.id)) continue
      if (insertSecret.run(hash, key.id).changes === 0) throw new Clash(0)
    }
    return true
  }

  /** Tells this process's watches of its own change, which doesn't move the file's version. */
  #tellWatches(): void {
    this.#watches.forEach((watch) => watch.readOwnChange())
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
  return row && stored(row)
}

function stored({ record, version }: Row): StoredKey {
  return { key: keyFrom(record), version }
}

function namedFrom(row: NameRow | undefined): Named[] {
  if (!row) return []
  const { id, name, reference, test } = row
  return [{ id, name, ...(reference !== null && { reference }), ...(test && { test: true }) }]
}
