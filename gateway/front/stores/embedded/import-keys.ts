import { randomUUID } from 'node:crypto'
import { breathe } from '../../../../shared/breathe.ts'
import type { Clock } from '../../../../shared/clock.ts'
import { inBatches, inOrder } from '../../../../shared/in-order.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import type { Key } from '../../keys/key.ts'
import { KeyMistake } from '../../keys/mistake.ts'
import { intactKeyFrom, recordOf } from '../../keys/record.ts'
import type { Added, Keys } from '../../keys/store.ts'
import { othersWrite, withoutSync } from './database.ts'
import type { Lines } from './key-index.ts'

/** After this silence of an import, another one removes its unfinished keys. */
const importLockMs = 30_000

/** Keys that are looked at in one turn of the loop. */
const keysAtOnce = 250

/** An id or a secret is taken. */
class Taken extends Error {}

type NewSecret = Readonly<{ hash: string; id: string }>
type Versions = Readonly<{ firstVersion: number; lastVersion: number }>

export type KeyImporterOptions = Readonly<{
  database: Database
  clock: Clock
  lines: Lines
  /** Gives the version of the next change. */
  nextVersion: () => number
}>

/**
 * Adds many keys to a gateway's file, all or none. They are added batch by batch, and stay invisible while their versions
 * are pending. One import runs at a time, under a lock that each step renews.
 */
export class KeyImporter {
  readonly #database: Database
  readonly #clock: Clock
  readonly #lines: Lines
  readonly #nextVersion: () => number
  readonly #statements: ReturnType<typeof statementsOf>

  constructor({ database, clock, lines, nextVersion }: KeyImporterOptions) {
    this.#database = database
    this.#clock = clock
    this.#lines = lines
    this.#nextVersion = nextVersion
    this.#statements = statementsOf(database)
  }

  /** Adds records and then secrets: in the order of the file's indexes. Unordered, a million took five times as long. */
  async add(keys: Keys, progress: (written: number) => void): Promise<Added> {
    const owner = randomUUID()
    this.#begin(owner)
    try {
      await this.#removeUnfinished(owner)
      const secrets: NewSecret[] = []
      for await (const [batch, done] of inBatches(keys, keysAtOnce)) {
        this.#unsyncedStep(owner, () => this.#addRecords(batch))
        await othersWrite()
        secrets.push(...batch.flatMap(secretsOf))
        progress(Math.floor(done / 2))
      }
      for await (const [batch, done] of inOrder(secrets, ({ hash }) => hash, keysAtOnce)) {
        this.#unsyncedStep(owner, () => this.#addSecrets(batch))
        await othersWrite()
        progress(Math.floor((keys.length * (1 + done / secrets.length)) / 2))
      }
      this.#step(owner, () => this.#publish(owner))
      // If it fails, the next page goes on with it: the keys are there.
      await this.#lines.catchUp().catch(() => undefined)
      return {}
    } catch (error) {
      // Keys that can't be removed now stay invisible, and the next import removes them.
      await this.#removeUnfinished(owner)
        .then(() => this.#statements.release.run(owner))
        .catch(() => undefined)
      if (error instanceof Taken) return { clash: await this.#firstTaken(keys) }
      throw error
    }
  }

  #begin(owner: string): void {
    const { holder, forgetHolder, hold } = this.#statements
    const begin = this.#database.transaction(() => {
      const aliveAtMs = holder.get() ?? -Infinity
      if (this.#clock() - aliveAtMs < importLockMs) throw isRunning()
      forgetHolder.run()
      hold.run(owner, this.#clock())
    })
    begin.immediate()
  }

  /** Changes the file in one step, if the lock is still the import's own. */
  #step<Result>(owner: string, change: () => Result): Result {
    const step = this.#database.transaction(() => {
      const { changes } = this.#statements.renew.run(this.#clock(), owner)
      if (changes === 0) throw isInterrupted()
      return change()
    })
    return step.immediate()
  }

  /** Invisible keys need not be durable: the step that publishes them syncs all. */
  #unsyncedStep<Result>(owner: string, change: () => Result): Result {
    return withoutSync(this.#database, () => this.#step(owner, change))
  }

  #addRecords(keys: readonly Key[]): void {
    const { hide, insertKey } = this.#statements
    // Taken in this step, so that a watch that follows the versions misses none.
    const version = this.#nextVersion()
    hide.run(version, version + keys.length - 1)
    for (const [index, key] of keys.entries()) {
      if (insertKey.run(key.id, version + index, recordOf(key)).changes === 0) throw new Taken()
    }
  }

  #addSecrets(secrets: readonly NewSecret[]): void {
    for (const { hash, id } of secrets) {
      if (this.#statements.insertSecret.run(hash, id).changes === 0) throw new Taken()
    }
  }

  #publish(owner: string): void {
    this.#statements.unhideAll.run()
    this.#statements.release.run(owner)
  }

  async #removeUnfinished(owner: string): Promise<void> {
    while (this.#unsyncedStep(owner, () => this.#removeBatch())) await othersWrite()
  }

  /** Removes a batch of an unfinished import; `false` if there was none. */
  #removeBatch(): boolean {
    const { hidden, recordsOf, dropSecret, dropKeys, unhide } = this.#statements
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
  async #firstTaken(keys: Keys): Promise<number> {
    const { isId, isHash } = this.#statements
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
}

function secretsOf({ id, secrets }: Key): NewSecret[] {
  return secrets.map(({ hash }) => ({ hash, id }))
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

function isRunning(): KeyMistake {
  return new KeyMistake('another import is running; wait until it has ended', 'conflict')
}

function isInterrupted(): KeyMistake {
  return new KeyMistake(
    'another import has begun meanwhile, and nothing was added; try again',
    'conflict',
  )
}
