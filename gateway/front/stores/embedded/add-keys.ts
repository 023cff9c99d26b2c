import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import type { Key } from '../../keys/key.ts'
import type { KeyStore } from '../../keys/store.ts'
import { keyImporter } from './import-keys.ts'
import type { Lines } from './key-index.ts'

/** The most keys that are added in one step. */
const mostInOneStep = 250

/** An id or a secret is taken; `index` is that of the key in the list to add. */
export class Clash extends Error {
  readonly index: number
  constructor(index: number) {
    super('an id or a secret is taken')
    this.index = index
  }
}

/** Gives the version of the next change. */
export function versionsIn(database: Database, clock: Clock): () => number {
  const latest = database.prepare<[], number>('SELECT max(version) FROM keys').pluck()
  // Versions follow the time, so that even a restored file gives none twice.
  return () => Math.max((latest.get() ?? 0) + 1, clock() * 1_000)
}

/** Adds keys to a gateway's file, all or none: a few in one step, and many by an import. */
export function keyAdder(database: Database, clock: Clock, lines: Lines): KeyStore['add'] {
  const nextVersion = versionsIn(database, clock)
  const insertKey = database.prepare('INSERT OR IGNORE INTO keys VALUES (?, ?, ?)')
  const insertSecret = database.prepare('INSERT OR IGNORE INTO secrets VALUES (?, ?)')
  const addMany = keyImporter({ database, clock, lines, nextVersion })

  const addFew = database.transaction((keys: readonly Key[]) => {
    const version = nextVersion()
    if (keys.length > 0) lines.note(version + keys.length - 1)
    for (const [index, key] of keys.entries()) {
      lines.add(key)
      const row = [key.id, version + index, JSON.stringify(key)]
      if (insertKey.run(...row).changes === 0) throw new Clash(index)
      for (const { hash } of key.secrets) {
        if (insertSecret.run(hash, key.id).changes === 0) throw new Clash(index)
      }
    }
  })

  return async (keys, progress = () => undefined) => {
    if (keys.length > mostInOneStep) return addMany(keys, progress)
    try {
      addFew.immediate([...keys])
    } catch (error) {
      if (error instanceof Clash) return { clash: error.index }
      throw error
    }
    progress(keys.length)
    return {}
  }
}
