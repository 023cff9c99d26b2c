import { randomUUID } from 'node:crypto'
import { breathe } from '../../../../shared/breathe.ts'
import type { Clock } from '../../../../shared/clock.ts'
import { inBatches, inOrder } from '../../../../shared/in-order.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { intactKeyFrom, type Key } from '../../keys/key.ts'
import type { Added, Keys } from '../../keys/store.ts'
import { importLockMs, interrupted, isRunning } from '../importing.ts'
import { othersWrite, withoutSync } from './database.ts'
import type { Lines } from './key-index.ts'

/** Keys that are looked at in one turn of the loop. */
const keysAtOnce = 250

/** An id or a secret is taken. */
class Taken extends Error {}

type Versions = Readonly<{ firstVersion: number; lastVersion: number }>

type KeyImportOptions = Readonly<{
  database: Database
  clock: Clock
  lines: Lines
  /** Gives the version of the next change. */
  nextVersion: () => number
}>

/**
 * Makes what adds many keys to a gateway's file, all or none. They are added batch by batch, and stay invisible while their
 * versions are pending. One import runs at a time, under a lock that each step renews.
 */
export function keyImporter({ database, clock, lines, nextVersion }: KeyImportOptions) {
  const statements = statementsOf(database)

  const begin = database.transaction((owner: string) => {
    const { holder, forgetHolder, hold } = statements
    const aliveAtMs = holder.get() ?? -Infinity
    if (clock() - aliveAtMs < importLockMs) throw isRunning()
    forgetHolder.run()
    hold.run(owner, clock())
  })

  /** Changes the file in one step, if the lock is still the import's own. */
  function step<Result>(owner: string, change: () => Result): Result {
    const locked = database.transaction(() => {
      if (statements.renew.run(clock(), owner).changes === 0) throw interrupted()
      return change()
    })
    return locked.immediate()
  }

  /** Invisible keys need not be durable: the step that publishes them syncs all. */
  const unsyncedStep = <Result>(owner: string, change: () => Result): Result =>
    withoutSync(database, () => step(owner, change))

  function addRecords(keys: readonly Key[]): void {
    const { hide, insertKey } = statements
    // Taken in this step, so that a watch that follows the versions misses none.
    const version = nextVersion()
    hide.run(version, version + keys.length - 1)
    for (const [index, key] of keys.entries()) {
      if (insertKey.run(key.id, version + index, JSON.stringify(key)).changes === 0)
        throw new Taken()
    }
  }

  function addSecrets(secrets: readonly Readonly<{ hash: string; id: string }>[]): void {
    for (const { hash, id } of secrets) {
      if (statements.insertSecret.run(hash, id).changes === 0) throw new Taken()
    }
  }

  async function removeUnfinished(owner: string): Promise<void> {
    while (unsyncedStep(owner, removeBatch)) await othersWrite()
  }

  /** Removes a batch of an unfinished import; `false` if there was none. */
  function removeBatch(): boolean {
    const { hidden, recordsOf, dropSecret, dropKeys, unhide } = statements
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
  }

  /** The index of the first key whose id or secret is taken, in the file or by a key before it. */
  async function firstTaken(keys: Keys): Promise<number> {
    const { isId, isHash } = statements
    const taken = new Set<string>()
    let index = 0
    for (const { id, secrets } of keys) {
      const isTaken = taken.has(id) || isId.get(id) !== undefined
      if (isTaken || secrets.some(({ hash }) => taken.has(hash) || isHash.get(hash))) return index
      taken.add(id)
      for (const { hash } of secrets) taken.add(hash)
      if (++index % keysAtOnce === 0) await breathe()
    }
    throw new Error('an id or a secret was taken during the import, and is free again; try again')
  }

  /** Adds records and then secrets: in the order of the file's indexes. Unordered, a million took five times as long. */
  return async (keys: Keys, progress: (written: number) => void): Promise<Added> => {
    const owner = randomUUID()
    begin.immediate(owner)
    try {
      await removeUnfinished(owner)
      const secrets: { hash: string; id: string }[] = []
      for await (const [batch, done] of inBatches(keys, keysAtOnce)) {
        unsyncedStep(owner, () => addRecords(batch))
        await othersWrite()
        for (const key of batch)
          secrets.push(...key.secrets.map(({ hash }) => ({ hash, id: key.id })))
        progress(Math.floor(done / 2))
      }
      for await (const [batch, done] of inOrder(secrets, ({ hash }) => hash, keysAtOnce)) {
        unsyncedStep(owner, () => addSecrets(batch))
        await othersWrite()
        progress(Math.floor((keys.length * (1 + done / secrets.length)) / 2))
      }
      step(owner, () => {
        statements.unhideAll.run()
        statements.release.run(owner)
      })
      // If it fails, the next page goes on with it: the keys are there.
      await lines.catchUp().catch(() => undefined)
      return {}
    } catch (error) {
      // Keys that can't be removed now stay invisible, and the next import removes them.
      await removeUnfinished(owner)
        .then(() => statements.release.run(owner))
        .catch(() => undefined)
      if (error instanceof Taken) return { clash: await firstTaken(keys) }
      throw error
    }
  }
}

function statementsOf(database: Database) {
  return {
    insertKey: database.prepare('INSERT OR IGNORE INTO keys VALUES (?, ?, ?)'),
    insertSecret: database.prepare('INSERT OR IGNORE INTO secrets VALUES (?, ?)'),
    holder: database.prepare<[], number>('SELECT max(aliveAtMs) FROM imports').pluck(),
    forgetHolder: database.prepare('DELETE FROM imports'),
    hold: database.prepare('INSERT INTO imports VALUES (?, ?)'),
    renew: database.prepare('UPDATE imports SET aliveAtMs = ? WHERE owner = ?'),
    release: database.prepare('DELETE FROM imports WHERE owner = ?'),
    hide: database.prepare('INSERT INTO pending VALUES (?, ?)'),
    hidden: database.prepare<[], Versions>('SELECT * FROM pending LIMIT 1'),
    unhide: database.prepare('DELETE FROM pending WHERE firstVersion = ?'),
    unhideAll: database.prepare('DELETE FROM pending'),
    isId: database.prepare<string, number>('SELECT 1 FROM keys WHERE id = ?').pluck(),
    isHash: database.prepare<string, number>('SELECT 1 FROM secrets WHERE hash = ?').pluck(),
    recordsOf: database
      .prepare<[number, number], string>('SELECT record FROM keys WHERE version BETWEEN ? AND ?')
      .pluck(),
    dropSecret: database.prepare('DELETE FROM secrets WHERE hash = ? AND keyId = ?'),
    dropKeys: database.prepare('DELETE FROM keys WHERE version BETWEEN ? AND ?'),
  }
}
