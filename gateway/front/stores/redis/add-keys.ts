import { randomUUID } from 'node:crypto'
import { inBatches } from '../../../../shared/in-order.ts'
import type { Key } from '../../keys/key.ts'
import { lineOf } from '../../keys/line.ts'
import type { Added, KeyStore } from '../../keys/store.ts'
import { importLockMs, interrupted, isRunning } from '../importing.ts'
import { lineOfRecord } from '../key-index.ts'
import { answerOf } from './answer.ts'
import { keyNames, keyScripts } from './key-names.ts'
import type { RedisOptions } from './script.ts'

/** The most keys per script call, so that a call never delays decisions for long. */
const batchSize = 500

/** Adds keys to Redis, all or none. Many are added in batches that stay invisible until the last one is stored. */
export function keyAdder(options: RedisOptions): KeyStore['add'] {
  const { connection, prefix } = options
  const { channel, lines, lock } = keyNames(prefix)
  const bound = keyScripts(options)
  const hidden = ['secrets', 'records', 'versions', 'pending'] as const
  const add = bound('keys-add.lua', ...hidden, 'version', 'lock', 'lines', 'linedUpTo')
  const forget = bound('keys-forget.lua', ...hidden, 'lock')
  const publish = bound('keys-publish.lua', 'pending', 'lock')

  /** Adds one batch, visible at once or, with an owner, pending. Gives the index of a clash in the batch. */
  async function addBatch(keys: readonly Key[], owner = ''): Promise<Added> {
    const args = keys.flatMap((key) => {
      const hashes = key.secrets.map(({ hash }) => hash)
      return [key.id, JSON.stringify(key), lineOf(key), hashes.length, ...hashes]
    })
    const position = Number(await add(owner, channel, ...args))
    if (position < 0) throw interrupted()
    return position > 0 ? { clash: position - 1 } : {}
  }

  const keepLock = () => answerOf(connection.pexpire(lock, importLockMs))

  async function removeUnfinished(owner: string): Promise<void> {
    for (;;) {
      const removed = (await forget(owner, batchSize)) as string[]
      if (removed.length === 0) return
      const ofRemoved = removed.flatMap((id, at) =>
        at % 2 === 0 ? lineOfRecord(id, removed[at + 1] ?? '') : [],
      )
      await answerOf(connection.zrem(lines, ...ofRemoved))
      await keepLock()
    }
  }

  return async (keys, progress) => {
    if (keys.length <= batchSize) return addBatch([...keys])
    const owner = randomUUID()
    if (!(await answerOf(connection.set(lock, owner, 'PX', importLockMs, 'NX')))) throw isRunning()
    try {
      await removeUnfinished(owner)
      for await (const [batch, done] of inBatches(keys, batchSize)) {
        const { clash } = await addBatch(batch, owner)
        if (clash !== undefined) {
          await removeUnfinished(owner)
          return { clash: done - batch.length + clash }
        }
        progress?.(done)
        await keepLock()
      }
      if (Number(await publish(owner)) === 0) throw interrupted()
      return {}
    } catch (error) {
      await removeUnfinished(owner).catch(() => undefined)
      throw error
    } finally {
      if ((await answerOf(connection.get(lock))) === owner) await answerOf(connection.del(lock))
    }
  }
}
