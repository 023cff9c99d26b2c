import { randomUUID } from 'node:crypto'
import { inBatches } from '../../../../shared/in-order.ts'
import type { Key } from '../../keys/key.ts'
import { lineOf } from '../../keys/line.ts'
import { KeyMistake } from '../../keys/mistake.ts'
import { recordOf } from '../../keys/record.ts'
import type { Added, Keys } from '../../keys/store.ts'
import { lineOfRecord } from '../key-index.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import type { KeyNames } from './key-names.ts'
import { script, type RedisOptions, type Script } from './script.ts'

/** The most keys per script call, so that a call never delays decisions for long. */
const batchSize = 500

/** After this silence of an import, another one removes its unfinished keys. */
const importLockMs = 30_000

/** Adds keys to Redis, all or none. Many are added in batches that stay invisible until the last one is stored. */
export class KeyAdder {
  readonly #connection: Connection
  readonly #names: KeyNames
  readonly #add: Script
  readonly #forget: Script
  readonly #publish: Script

  constructor(options: RedisOptions, names: KeyNames) {
    const { secrets, records, versions, pending, version, lock, lines, linedUpTo } = names
    const bound = (file: string, names: readonly string[]) => script({ ...options, file }, names)
    const added = [secrets, records, versions, pending, version, lock, lines, linedUpTo]
    this.#connection = options.connection
    this.#names = names
    this.#add = bound('keys-add.lua', added)
    this.#forget = bound('keys-forget.lua', [secrets, records, versions, pending, lock])
    this.#publish = bound('keys-publish.lua', [pending, lock])
  }

  add(keys: Keys, progress?: (written: number) => void): Promise<Added> {
    return keys.length <= batchSize ? this.#addBatch([...keys]) : this.#addMany(keys, progress)
  }

  /** Adds one batch, visible at once or, with an owner, pending. Gives the index of a clash in the batch. */
  async #addBatch(keys: readonly Key[], owner = ''): Promise<Added> {
    const args = keys.flatMap((key) => {
      const hashes = key.secrets.map(({ hash }) => hash)
      return [key.id, recordOf(key), lineOf(key), hashes.length, ...hashes]
    })
    const position = Number(await this.#add(owner, this.#names.channel, ...args))
    if (position < 0) throw interrupted()
    return position > 0 ? { clash: position - 1 } : {}
  }

  async #addMany(keys: Keys, progress?: (written: number) => void): Promise<Added> {
    const connection = this.#connection
    const { lock } = this.#names
    const owner = randomUUID()
    if (!(await answerOf(connection.set(lock, owner, 'PX', importLockMs, 'NX')))) {
      throw new KeyMistake('another import is running; wait until it has ended', 'conflict')
    }
    try {
      await this.#removeUnfinished(owner)
      for await (const [batch, done] of inBatches(keys, batchSize)) {
        const { clash } = await this.#addBatch(batch, owner)
        if (clash !== undefined) {
          await this.#removeUnfinished(owner)
          return { clash: done - batch.length + clash }
        }
        progress?.(done)
        await answerOf(connection.pexpire(lock, importLockMs))
      }
      if (Number(await this.#publish(owner)) === 0) throw interrupted()
      return {}
    } catch (error) {
      await this.#removeUnfinished(owner).catch(() => undefined)
      throw error
    } finally {
      if ((await answerOf(connection.get(lock))) === owner) await answerOf(connection.del(lock))
    }
  }

  async #removeUnfinished(owner: string): Promise<void> {
    const { lines, lock } = this.#names
    for (;;) {
      const removed = (await this.#forget(owner, batchSize)) as string[]
      if (removed.length === 0) return
      const ofRemoved = removed.flatMap((id, at) =>
        at % 2 === 0 ? lineOfRecord(id, removed[at + 1] ?? '') : [],
      )
      await answerOf(this.#connection.zrem(lines, ...ofRemoved))
      await answerOf(this.#connection.pexpire(lock, importLockMs))
    }
  }
}

function interrupted(): KeyMistake {
  return new KeyMistake(
    'another import has begun meanwhile, and nothing was added; try again',
    'conflict',
  )
}
