import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'
import { KeyMistake } from '../../keys/mistake.ts'
import { intactKeyFrom, keyFrom, recordOf } from '../../keys/record.ts'
import type { Key, StoredKey } from '../../keys/key.ts'
import type { Added, KeyListener, KeyStore, Watch } from '../../keys/store.ts'
import type { Breaker } from './breaker.ts'
import type { Connection } from './connect.ts'
import { script } from './script.ts'
import { watchKeys } from './watch-keys.ts'

export type RedisOptions = Readonly<{
  connection: Connection
  /** What every name begins with. */
  prefix: string
  timeoutMs: number
  breaker?: Breaker | undefined
  clock?: Clock
}>

/** Keys that one script call adds at most, so that it never holds up decisions for long. */
const batchSize = 500

/** How many keys are asked for by their ids in one go: a millisecond for the gateway that reads them. */
const idsAtOnce = 200

/** How long an import may be silent before another one takes back what it has left. */
const importLockMs = 30_000

const interrupted = (): KeyMistake =>
  new KeyMistake('another import has begun meanwhile, and nothing was added; try again', 'conflict')

/**
 * Keys in Redis. All names share one slot of a Cluster (the braces see to it), so that a change of a
 * key, its secrets and the count of changes is one step. Who has opened the connection ends it.
 */
export function redisKeys({
  connection,
  prefix,
  timeoutMs,
  breaker,
  clock = Date.now,
}: RedisOptions): KeyStore {
  const name = (what: string): string => `${prefix}{keys}:${what}`
  const [secrets, records, versions] = [name('secrets'), name('records'), name('versions')]
  const [pending, version, channel] = [name('pending'), name('version'), name('changed')]
  const lock = name('import')
  const bound = (file: string, names: readonly string[]) =>
    script({ connection, timeoutMs, breaker, file }, names)
  const findKey = bound('keys-find.lua', [secrets, records, versions, pending])
  const addKeys = bound('keys-add.lua', [secrets, records, versions, pending, version, lock])
  const replaceKey = bound('keys-replace.lua', [secrets, records, versions, version])
  const forget = bound('keys-forget.lua', [secrets, records, versions, pending, lock])
  const publish = bound('keys-publish.lua', [pending, lock])
  const watches = new Set<Watch>()

  /** Adds one batch, at once or for an import that waits; the place of a clash in it, from 0. */
  async function addBatch(keys: readonly Key[], owner = ''): Promise<Added> {
    const args = keys.flatMap((key) => {
      const hashes = key.secrets.map(({ hash }) => hash)
      return [key.id, recordOf(key), hashes.length, ...hashes]
    })
    const place = Number(await addKeys(owner, channel, ...args))
    if (place < 0) throw interrupted()
    return place > 0 ? { clash: place - 1 } : {}
  }

  /** Adds many keys in batches that nobody sees until the last one is there. */
  async function addMany(keys: readonly Key[], progress?: (n: number) => void): Promise<Added> {
    const owner = randomUUID()
    if (!(await connection.set(lock, owner, 'PX', importLockMs, 'NX'))) {
      throw new KeyMistake('another import is running; wait until it has ended', 'conflict')
    }
    const takeBack = async (): Promise<void> => {
      while (Number(await forget(owner, batchSize)) > 0)
        await connection.pexpire(lock, importLockMs)
    }
    try {
      await takeBack()
      for (let start = 0; start < keys.length; start += batchSize) {
        const batch = keys.slice(start, start + batchSize)
        const { clash } = await addBatch(batch, owner)
        if (clash !== undefined) {
          await takeBack()
          return { clash: start + clash }
        }
        progress?.(start + batch.length)
        await connection.pexpire(lock, importLockMs)
      }
      if (Number(await publish(owner)) === 0) throw interrupted()
      return {}
    } catch (error) {
      await takeBack().catch(() => undefined)
      throw error
    } finally {
      if ((await connection.get(lock)) === owner) await connection.del(lock)
    }
  }

  return {
    async find(hash) {
      return storedFrom(await findKey('hash', hash))
    },

    async get(id) {
      return storedFrom(await findKey('id', id))
    },

    async *list() {
      for await (const pairs of scan((cursor) =>
        connection.hscan(records, cursor, 'COUNT', 1_000),
      )) {
        if (pairs.length === 0) continue
        const waits = await connection.hmget(pending, ...pairs.map(([id]) => id))
        for (const [index, [, record]] of pairs.entries()) {
          const key = waits[index] === null ? intactKeyFrom(record) : undefined
          if (key) yield key
        }
      }
    },

    async *named(ids) {
      for (let start = 0; start < ids.length; start += idsAtOnce) {
        const some = ids.slice(start, start + idsAtOnce)
        const [texts, waits] = await Promise.all([
          connection.hmget(records, ...some),
          connection.hmget(pending, ...some),
        ])
        yield texts.flatMap((text, index) => {
          const isThere = text !== null && waits[index] === null
          return (isThere && intactKeyFrom(text)) || []
        })
      }
    },

    async *names() {
      for await (const pairs of scan((cursor) =>
        connection.hscan(secrets, cursor, 'COUNT', 1_000),
      )) {
        yield pairs.map(([hash]) => hash)
      }
    },

    add(keys, progress) {
      return keys.length <= batchSize ? addBatch(keys) : addMany(keys, progress)
    },

    async replace(key, version) {
      const hashes = key.secrets.map(({ hash }) => hash)
      return Number(await replaceKey(channel, key.id, version, recordOf(key), ...hashes)) === 1
    },

    watch(listener: KeyListener) {
      const watch = watchKeys({ connection, records, versions, version, channel, clock }, listener)
      watches.add(watch)
      return watch
    },

    close() {
      watches.forEach((watch) => watch.close())
      return Promise.resolve()
    },
  }
}

function storedFrom(answer: unknown): StoredKey | undefined {
  if (!Array.isArray(answer)) return undefined
  return { key: keyFrom(String(answer[0])), version: Number(answer[1]) }
}

/** All pairs of a hash, in batches; a pair may come twice while the hash grows. */
async function* scan(
  next: (cursor: string) => Promise<[string, string[]]>,
): AsyncGenerator<[string, string][]> {
  let cursor = '0'
  do {
    const [following, flat] = await next(cursor)
    const pairs: [string, string][] = []
    for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([flat[i] ?? '', flat[i + 1] ?? ''])
    yield pairs
    cursor = following
  } while (cursor !== '0')
}
