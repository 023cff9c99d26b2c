import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { KeyMistake } from '../../keys/mistake.ts'
import { intactKeyFrom, recordOf } from '../../keys/record.ts'
import type { Key } from '../../keys/key.ts'
import type { Added } from '../../keys/store.ts'
import { breathe } from '../../../../shared/breathe.ts'
import { inOrder } from '../../../../shared/in-order.ts'
import { withoutSync } from './database.ts'
import type { Lines } from './key-index.ts'

/** The most keys that are added in one step, and that are checked in one turn of the loop. */
const batchSize = 250

/** After this silence of an import, another one removes its unfinished keys. */
const importLockMs = 30_000

/** An id or a secret is taken; `index` is that of the key in the list to add. */
export class Clash extends Error {
  readonly index: number
  constructor(index: number) {
    super('an id or a secret is taken')
    this.index = index
  }
}

/** The same in a batch of an import, without the index. */
class Taken extends Error {}

type NewSecret = Readonly<{ hash: string; id: string }>
type Versions = Readonly<{ firstVersion: number; lastVersion: number }>

const isRunning = (): KeyMistake =>
  new KeyMistake('another import is running; wait until it has ended', 'conflict')
const isInterrupted = (): KeyMistake =>
  new KeyMistake('another import has begun meanwhile, and nothing was added; try again', 'conflict')

/** Gives the version of the next change. */
export function versionsIn(database: Database, clock: Clock): () => number {
  const latest = database.prepare<[], number>('SELECT max(version) FROM keys').pluck()
  // Versions follow the time, so that even a restored file gives none twice.
  return () => Math.max((latest.get() ?? 0) + 1, clock() * 1_000)
}

/**
 * Adds keys to a gateway's file, all or none. A few keys are one step. Many are added batch by batch, and
 * stay invisible while their versions are pending.
 */
export function keyAdder(
  database: Database,
  clock: Clock,
  lines: Lines,
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
    if (keys.length > 0) lines.note(version + keys.length - 1)
    for (const [index, key] of keys.entries()) {
      lines.add(key)
      const row = [key.id, version + index, recordOf(key)]
      if (insertKey.run(...row).changes === 0) throw new Clash(index)
      for (const { hash } of key.secrets) {
        if (insertSecret.run(hash, key.id).changes === 0) throw new Clash(index)
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
    // Taken in this step, so that a watch that follows the versions misses none.
    const version = nextVersion()
    hide.run(version, version + keys.length - 1)
    for (const [index, key] of keys.entries()) {
      if (insertKey.run(key.id, version + index, recordOf(key)).changes === 0) throw new Taken()
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
  /** Removes a batch of an unfinished import; `false` if there was none. */
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

  // Invisible keys need not be durable: `publish` syncs all of them.
  async function removeUnfinished(owner: string): Promise<void> {
    while (withoutSync(database, () => removeBatch.immediate(owner))) await breathe()
  }

  /** The index of the first key whose id or secret is taken, in the file or by a key before it. */
  async function firstTaken(keys: readonly Key[]): Promise<number> {
    const taken = new Set<string>()
    for (const [index, { id, secrets }] of keys.entries()) {
      const isTaken = taken.has(id) || isId.get(id) !== undefined
      if (isTaken || secrets.some(({ hash }) => taken.has(hash) || isHash.get(hash))) return index
      taken.add(id)
      for (const { hash } of secrets) taken.add(hash)
      if (index % batchSize === 0) await breathe()
    }
    throw new Error('an id or a secret was taken during the import, and is free again; try again')
  }

  /** Adds records and then secrets, in the order of the file's indexes: a million take 43 s, and unordered 230 s. */
  async function addMany(
    keys: readonly Key[],
    progress: (written: number) => void = () => undefined,
  ): Promise<Added> {
    const owner = randomUUID()
    begin.immediate(owner)
    try {
      await removeUnfinished(owner)
      for await (const [batch, done] of inOrder(keys, ({ id }) => id)) {
        withoutSync(database, () => addRecords.immediate(owner, batch))
        progress(Math.floor(done / 2))
      }
      const secrets = keys.flatMap(({ id, secrets }) => secrets.map(({ hash }) => ({ hash, id })))
      for await (const [batch, done] of inOrder(secrets, ({ hash }) => hash)) {
        withoutSync(database, () => addSecrets.immediate(owner, batch))
        progress(Math.floor((keys.length * (1 + done / secrets.length)) / 2))
      }
      publish.immediate(owner)
      // If it fails, the next page goes on with it: the keys are there.
      await lines.catchUp().catch(() => undefined)
      return {}
    } catch (error) {
      // Keys that can't be removed now stay invisible, and the next import removes them.
      await removeUnfinished(owner)
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
      if (error instanceof Clash) return { clash: error.index }
      throw error
    }
    progress?.(keys.length)
    return {}
  }
}
