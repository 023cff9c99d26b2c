import type { Clock } from '../../../shared/clock.ts'
import type { Database } from '../../../shared/sqlite.ts'
import { intactKeyFrom, keyFrom, recordOf } from '../../keys/record.ts'
import type { Key, StoredKey } from '../../keys/key.ts'
import { pollMs, type KeyListener, type KeyStore, type Watch } from '../../keys/store.ts'
import { Clash, isThere, keyAdder, versionsIn } from './add-keys.ts'
import { breathe } from '../../../shared/breathe.ts'

type Row = { id: string; version: number; record: string }

const batchSize = 2_000

/** How many keys are asked for by their ids in one go. */
const idsAtOnce = 200

/** Keys in a SQLite file, which several processes may have open. */
export function embeddedKeys(database: Database, clock: Clock = Date.now): KeyStore {
  const find = database.prepare<string, Row>(
    `SELECT keys.* FROM secrets JOIN keys ON keys.id = secrets.keyId
     WHERE secrets.hash = ? AND ${isThere}`,
  )
  const get = database.prepare<string, Row>(`SELECT * FROM keys WHERE id = ? AND ${isThere}`)
  const since = database.prepare<number, Row>(
    `SELECT * FROM keys WHERE version > ? ORDER BY version LIMIT ${batchSize}`,
  )
  const page = database.prepare<[string, number], Row>(
    `SELECT * FROM keys WHERE id > ? AND ${isThere} ORDER BY id LIMIT ?`,
  )
  const hashesAfter = database
    .prepare<[string, number], string>(
      'SELECT hash FROM secrets WHERE hash > ? ORDER BY hash LIMIT ?',
    )
    .pluck()
  const latest = database.prepare<[], number>('SELECT coalesce(max(version), 0) FROM keys').pluck()
  const insertSecret = database.prepare('INSERT OR IGNORE INTO secrets VALUES (?, ?)')
  const ownSecret = database.prepare('SELECT 1 FROM secrets WHERE hash = ? AND keyId = ?').pluck()
  const update = database.prepare(
    'UPDATE keys SET version = ?, record = ? WHERE id = ? AND version = ?',
  )
  const dataVersion = database.prepare<[], number>('PRAGMA data_version').pluck()
  const listeners = new Set<() => void>()

  const add = keyAdder(database, clock)
  const nextVersion = versionsIn(database, clock)

  const replaceOne = database.transaction((key: Key, version: number): boolean => {
    if (update.run(nextVersion(), recordOf(key), key.id, version).changes === 0) return false
    for (const { hash } of key.secrets) {
      if (ownSecret.get(hash, key.id)) continue
      if (insertSecret.run(hash, key.id).changes === 0) throw new Clash(0)
    }
    return true
  })

  /** Other listeners of this process hear of a change at once; `data_version` tells of no own one. */
  const tellListeners = (): void => listeners.forEach((tell) => tell())

  return {
    find: (hash) => storedFrom(find.get(hash)),
    get: (id) => storedFrom(get.get(id)),

    async *list() {
      for (let rows = page.all('', batchSize); rows.length > 0;) {
        for (const { record } of rows) {
          const key = intactKeyFrom(record)
          if (key) yield key
        }
        rows = page.all(rows.at(-1)?.id ?? '', batchSize)
        await breathe()
      }
    },

    async *named(ids) {
      for (let start = 0; start < ids.length; start += idsAtOnce) {
        const rows = ids.slice(start, start + idsAtOnce).map((id) => get.get(id))
        yield rows.flatMap((row) => (row && intactKeyFrom(row.record)) ?? [])
        await breathe()
      }
    },

    async *names() {
      for (let page = hashesAfter.all('', batchSize); page.length > 0;) {
        yield page
        page = hashesAfter.all(page.at(-1) ?? '', batchSize)
        await breathe()
      }
    },

    async add(keys, progress) {
      const added = await add(keys, progress)
      if (added.clash === undefined) tellListeners()
      return added
    },

    async replace(key, version) {
      const replaced = replaceOne.immediate(key, version)
      if (replaced) tellListeners()
      return Promise.resolve(replaced)
    },

    watch(listener) {
      const watch = watchFile(listener)
      listeners.add(watch.hear)
      return watch
    },

    close() {
      database.close()
      return Promise.resolve()
    },
  }

  function watchFile(listener: KeyListener): Watch & { hear: () => void } {
    let seen = latest.get() ?? 0
    let fileVersion = dataVersion.get()
    let upToDateAtMs = clock()
    let failing = false
    let isUnread = false
    let isPlanned = false
    let hasMissed = false
    let isLookedAt = false
    const look = (): void => {
      // Where an older file was put in place of this one, all of it is news.
      if ((latest.get() ?? 0) < seen) seen = 0
      const rows = since.all(seen)
      seen = rows.at(-1)?.version ?? seen
      const intact = rows.flatMap(({ record, version }) => {
        const key = intactKeyFrom(record)
        return key ? [{ key, version }] : []
      })
      if (intact.length > 0) listener.changed(intact)
      // What can't be read can't be told of.
      hasMissed ||= intact.length < rows.length
      isUnread = rows.length === batchSize
      if (isUnread) readOn()
    }
    const readOn = (): void => {
      if (isPlanned) return
      isPlanned = true
      setImmediate(() => {
        isPlanned = false
        poll()
      })
    }
    const poll = (): void => {
      if (!database.open) return
      try {
        const version = dataVersion.get()
        if (version !== fileVersion || isUnread) look()
        fileVersion = version
        if (!isUnread) upToDateAtMs = clock()
        if (failing) listener.trouble?.(undefined)
        failing = false
      } catch (error) {
        if (!failing) listener.trouble?.(error instanceof Error ? error : new Error(String(error)))
        failing = true
      }
    }
    /** After a change by this process itself, of which the file's version says nothing. */
    const hear = (): void => {
      isUnread = true
      poll()
    }
    const timer = setInterval(poll, pollMs)
    timer.unref()
    return {
      hear,
      get upToDateAtMs() {
        return upToDateAtMs
      },
      isUpToDate() {
        // Once a turn of the loop: what is asked in it was mostly sent before.
        if (!isLookedAt && !isUnread) {
          isLookedAt = true
          setImmediate(() => (isLookedAt = false))
          poll()
        }
        return database.open && !failing && !isUnread && !hasMissed
      },
      close() {
        clearInterval(timer)
        listeners.delete(hear)
      },
    }
  }
}

function storedFrom(row: Row | undefined): StoredKey | undefined {
  return row && stored(row)
}

function stored({ record, version }: Row): StoredKey {
  return { key: keyFrom(record), version }
}
