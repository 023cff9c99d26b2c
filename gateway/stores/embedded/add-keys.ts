import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'
import type { Database } from '../../../shared/sqlite.ts'
import { KeyMistake } from '../../keys/mistake.ts'
import { intactKeyFrom, recordOf } from '../../keys/record.ts'
import type { Key } from '../../keys/key.ts'
import type { Added } from '../../keys/store.ts'
import { breathe } from '../../../shared/breathe.ts'
import { inOrder } from './in-order.ts'

/** How many keys are added as one step; of more, as many are looked at between two turns of the loop. */
const batchSize = 250

/** How long an import may be silent before another one takes back what it has left. */
const importLockMs = 30_000

/** For a `WHERE`: the key belongs to no import that is under way, or was broken off. */
export const isThere = `coalesce(
  (SELECT lastVersion FROM pending WHERE firstVersion <= keys.version
   ORDER BY firstVersion DESC LIMIT 1), 0) < keys.version`

/** An id or a secret is taken: `place` says by which of the keys that were to be added. */
export class Clash extends Error {
  readonly place: number
  constructor(place: number) {
    super('an id or a secret is taken')
    this.place = place
  }
}

/** The same, of one of many. */
class Taken extends Error {}

type NewSecret = Readonly<{ hash: string; id: string }>
type Versions = Readonly<{ firstVersion: number; lastVersion: number }>

const isRunning = (): KeyMistake =>
  new KeyMistake('another import is running; wait until it has ended', 'conflict')
const isInterrupted = (): KeyMistake =>
  new KeyMistake('another import has begun meanwhile, and nothing was added; try again', 'conflict')

/** The number that the next change of a key gets. */
export function versionsIn(database: Database, clock: Clock): () => number {
  const latest = database.prepare<[], number>('SELECT max(version) FROM keys').pluck()
  // Versions follow the time, so that none is given twice even by a file that was restored.
  return () => Math.max((latest.get() ?? 0) + 1, clock() * 1_000)
}

/**
 * Adds keys to a gateway's file, all or none of them. Few are one step. Of many, each batch is one, and nobody finds
 * them while their versions are among those that are pending.
 */
export function keyAdder(
  database: Database,
  clock: Clock,
): (keys: readonly Key[], progress?: (written: number) => void) => Promise<Added> {
  const nextVersion = versionsIn(database, clock)
  const insertKey = database.prepare('INSERT OR IGNORE INTO keys VALUES (?, ?, ?)')
  const insertSecret = database.prepare('INSERT OR IGNORE INTO secrets VALUES (?, ?)')
  const holder = database.prepare<[], number>('SELECT max(aliveAtMs) FROM imports').pluck()
  const forgetHolder = database.prepare('DELETE FROM imports')
  const hold = database.prepare('INSERT INTO imports VALUES (?, ?)')
  const renew = database.prepare('UPDATE imports SET aliveAtMs = ? WHERE owner = ?')
  const release = database.prepare('DELETE FROM imports WHERE owner = ?')
  const hide = database.prepare('INSERT INTO pending VALUES (?, ?)')
  const hidden = database.prepare<[], Versions>('SELECT * FROM pending LIMIT 1')
  const unhide = database.prepare('DELETE FROM pending WHERE firstVersion = ?')
  const unhideAll = database.prepare('DELETE FROM pending')
  const isId = database.prepare<string, number>('SELECT 1 FROM keys WHERE id = ?').pluck()
  const isHash = database.prepare<string, number>('SELECT 1 FROM secrets WHERE hash = ?').pluck()
  const recordsOf = database
    .prepare<[number, number], string>('SELECT record FROM keys WHERE version BETWEEN ? AND ?')
    .pluck()
  const dropSecret = database.prepare('DELETE FROM secrets WHERE hash = ? AND keyId = ?')
  const dropKeys = database.prepare('DELETE FROM keys WHERE version BETWEEN ? AND ?')

  const addFew = database.transaction((keys: readonly Key[]) => {
    const version = nextVersion()
    for (const [place, key] of keys.entries()) {
      const row = [key.id, version + place, recordOf(key)]
      if (insertKey.run(...row).changes === 0) throw new Clash(place)
      for (const { hash } of key.secrets) {
        if (insertSecret.run(hash, key.id).changes === 0) throw new Clash(place)
      }
    }
  })

  const begin = database.transaction((owner: string) => {
    const aliveAtMs = holder.get() ?? -Infinity
    if (clock() - aliveAtMs < importLockMs) throw isRunning()
    forgetHolder.run()
    hold.run(owner, clock())
  })
  const renewHold = (owner: string): void => {
    if (renew.run(clock(), owner).changes === 0) throw isInterrupted()
  }
  const addRecords = database.transaction((owner: string, keys: readonly Key[]) => {
    renewHold(owner)
    // Given just now, so that who follows the versions misses none.
    const version = nextVersion()
    hide.run(version, version + keys.length - 1)
    for (const [place, key] of keys.entries()) {
      if (insertKey.run(key.id, version + place, recordOf(key)).changes === 0) throw new Taken()
    }
  })
  const addSecrets = database.transaction((owner: string, secrets: readonly NewSecret[]) => {
    renewHold(owner)
    for (const { hash, id } of secrets) {
      if (insertSecret.run(hash, id).changes === 0) throw new Taken()
    }
  })
  const publish = database.transaction((owner: string) => {
    renewHold(owner)
    unhideAll.run()
    release.run(owner)
  })
  /** Removes a batch that an import has left; `false` if there was none. */
  const removeBatch = database.transaction((owner: string): boolean => {
    renewHold(owner)
    const versions = hidden.get()
    if (!versions) return false
    const { firstVersion, lastVersion } = versions
    for (const record of recordsOf.all(firstVersion, lastVersion)) {
      const key = intactKeyFrom(record)
      for (const { hash } of key?.secrets ?? []) dropSecret.run(hash, key?.id)
    }
    dropKeys.run(firstVersion, lastVersion)
    unhide.run(firstVersion)
    return true
  })

  async function takeBack(owner: string): Promise<void> {
    while (hurriedly(() => removeBatch.immediate(owner))) await breathe()
  }

  /** What nobody finds yet need not wait for the disk: the step that shows it brings all before it there. */
  function hurriedly<Result>(write: () => Result): Result {
    database.pragma('synchronous = NORMAL')
    try {
      return write()
    } finally {
      database.pragma('synchronous = FULL')
    }
  }

  /** Which of the keys is the first to have an id or a secret that is taken, by another of them or in the file. */
  async function firstTaken(keys: readonly Key[]): Promise<number> {
    const taken = new Set<string>()
    for (const [place, { id, secrets }] of keys.entries()) {
      const isTaken = taken.has(id) || isId.get(id) !== undefined
      if (isTaken || secrets.some(({ hash }) => taken.has(hash) || isHash.get(hash))) return place
      taken.add(id)
      for (const { hash } of secrets) taken.add(hash)
      if (place % batchSize === 0) await breathe()
    }
    throw new Error('an id or a secret was taken, and isn’t any more; try again')
  }

  /** Records and then secrets, each in the order in which the file has them: a million in 43 s, and in 230 in none. */
  async function addMany(
    keys: readonly Key[],
    progress: (written: number) => void = () => undefined,
  ): Promise<Added> {
    const owner = randomUUID()
    begin.immediate(owner)
    try {
      await takeBack(owner)
      for await (const [batch, done] of inOrder(keys, ({ id }) => id)) {
        hurriedly(() => addRecords.immediate(owner, batch))
        progress(Math.floor(done / 2))
      }
      const secrets = keys.flatMap(({ id, secrets }) => secrets.map(({ hash }) => ({ hash, id })))
      for await (const [batch, done] of inOrder(secrets, ({ hash }) => hash)) {
        hurriedly(() => addSecrets.immediate(owner, batch))
        progress(Math.floor((keys.length * (1 + done / secrets.length)) / 2))
      }
      publish.immediate(owner)
      return {}
    } catch (error) {
      // What can't be taken back now stays unseen, and the next import does it.
      await takeBack(owner)
        .then(() => release.run(owner))
        .catch(() => undefined)
      if (error instanceof Taken) return { clash: await firstTaken(keys) }
      throw error
    }
  }

  return async (keys, progress) => {
    if (keys.length > batchSize) return addMany(keys, progress)
    try {
      addFew.immediate(keys)
    } catch (error) {
      if (error instanceof Clash) return { clash: error.place }
      throw error
    }
    progress?.(keys.length)
    return {}
  }
}
