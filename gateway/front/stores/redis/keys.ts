import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../../shared/clock.ts'
import { KeyMistake } from '../../keys/mistake.ts'
import { intactKeyFrom, keyFrom, recordOf } from '../../keys/record.ts'
import type { Key, StoredKey } from '../../keys/key.ts'
import { lineOf } from '../../keys/line.ts'
import type { Added, KeyListener, KeyStore, Named, Watch } from '../../keys/store.ts'
import { lineOfRecord, pageBy, type KeyIndex } from '../key-index.ts'
import { answerOf } from './answer.ts'
import { redisKeyIndex } from './key-index.ts'
import { script, type RedisOptions } from './script.ts'
import { watchKeys } from './watch-keys.ts'

/** The most keys per script call, so that a call never delays decisions for long. */
const batchSize = 500

/** Keys that are read by id per command: parsing them takes the gateway a millisecond. */
const idsAtOnce = 200

/** After this silence of an import, another one removes its unfinished keys. */
const importLockMs = 30_000

/** The time limit of a call of the index. It is long, because only an operator waits. */
const indexTimeoutMs = 1_000

const interrupted = (): KeyMistake =>
  new KeyMistake('another import has begun meanwhile, and nothing was added; try again', 'conflict')

/** A store of keys with its index, which can be brought up to date before anybody asks for a page. */
export type IndexedKeys = KeyStore & Readonly<{ index: KeyIndex }>

/** Records that are read per call. With 1,000, a caller's median wait beside a look at 100,000 keys is 8 ms, not 5. */
const recordsAtOnce = 300

/**
 * Keys in Redis. All names share one slot of a Cluster (because of the braces), so that a change of a key,
 * its secrets and the count of changes is one step. The opener of the connection closes it.
 */
export function redisKeys({
  connection,
  prefix,
  timeoutMs,
  breaker,
  clock = Date.now,
}: RedisOptions & Readonly<{ clock?: Clock }>): IndexedKeys {
  const name = (what: string): string => `${prefix}{keys}:${what}`
  const [secrets, records, versions] = [name('secrets'), name('records'), name('versions')]
  const [pending, version, channel] = [name('pending'), name('version'), name('changed')]
  const [lock, lines, linedUpTo] = [name('import'), name('lines'), name('lined')]
  const store = name('store')
  const bound = (file: string, names: readonly string[]) =>
    script({ connection, timeoutMs, breaker, file }, names)
  const findKey = bound('keys-find.lua', [secrets, records, versions, pending])
  const lineNames = [lines, linedUpTo]
  const addKeys = bound('keys-add.lua', [
    secrets,
    records,
    versions,
    pending,
    version,
    lock,
    ...lineNames,
  ])
  const readNames = bound('keys-names.lua', [records, pending])
  const replaceKey = bound('keys-replace.lua', [secrets, records, versions, version, ...lineNames])
  const forget = bound('keys-forget.lua', [secrets, records, versions, pending, lock])
  const publish = bound('keys-publish.lua', [pending, lock])
  // Requests don't wait for it, so a slow answer says nothing about decisions.
  const ofIndex = (file: string, names: readonly string[]) =>
    script({ connection, timeoutMs: Math.max(timeoutMs, indexTimeoutMs), file }, names)
  const index = redisKeyIndex({
    walk: ofIndex('keys-walk.lua', [lines, records, versions, pending]),
    missingLines: ofIndex('keys-missing-lines.lua', [records, versions, version, ...lineNames]),
    line: ofIndex('keys-line.lua', [...lineNames, versions]),
    removeLines: ofIndex('keys-remove-lines.lua', [lines, versions]),
  })
  const watches = new Set<Watch>()

  /** Adds one batch, visible at once or, with an owner, pending. Gives the index of a clash in the batch. */
  async function addBatch(keys: readonly Key[], owner = ''): Promise<Added> {
    const args = keys.flatMap((key) => {
      const hashes = key.secrets.map(({ hash }) => hash)
      return [key.id, recordOf(key), lineOf(key), hashes.length, ...hashes]
    })
    const position = Number(await addKeys(owner, channel, ...args))
    if (position < 0) throw interrupted()
    return position > 0 ? { clash: position - 1 } : {}
  }

  /** Adds many keys in batches that stay invisible until the last one is stored. */
  async function addMany(keys: readonly Key[], progress?: (n: number) => void): Promise<Added> {
    const owner = randomUUID()
    if (!(await answerOf(connection.set(lock, owner, 'PX', importLockMs, 'NX')))) {
      throw new KeyMistake('another import is running; wait until it has ended', 'conflict')
    }
    const removeUnfinished = async (): Promise<void> => {
      for (;;) {
        const removed = (await forget(owner, batchSize)) as string[]
        if (removed.length === 0) return
        const ofRemoved = removed.flatMap((id, at) =>
          at % 2 === 0 ? lineOfRecord(id, removed[at + 1] ?? '') : [],
        )
        await answerOf(connection.zrem(lines, ...ofRemoved))
        await answerOf(connection.pexpire(lock, importLockMs))
      }
    }
    try {
      await removeUnfinished()
      for (let start = 0; start < keys.length; start += batchSize) {
        const batch = keys.slice(start, start + batchSize)
        const { clash } = await addBatch(batch, owner)
        if (clash !== undefined) {
          await removeUnfinished()
          return { clash: start + clash }
        }
        progress?.(start + batch.length)
        await answerOf(connection.pexpire(lock, importLockMs))
      }
      if (Number(await publish(owner)) === 0) throw interrupted()
      return {}
    } catch (error) {
      await removeUnfinished().catch(() => undefined)
      throw error
    } finally {
      if ((await answerOf(connection.get(lock))) === owner) await answerOf(connection.del(lock))
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
        answerOf(connection.hscan(records, cursor, 'COUNT', recordsAtOnce)),
      )) {
        if (pairs.length === 0) continue
        const waits = await answerOf(connection.hmget(pending, ...pairs.map(([id]) => id)))
        for (const [index, [, record]] of pairs.entries()) {
          const key = waits[index] === null ? intactKeyFrom(record) : undefined
          if (key) yield key
        }
      }
    },

    page: (query) => pageBy(index, query),

    index,

    async *named(ids) {
      const ask = (start: number): Promise<unknown> | undefined => {
        const some = ids.slice(start, start + idsAtOnce)
        const asked = some.length > 0 ? readNames(...some) : undefined
        // If the reader stops before it, nobody takes its error.
        asked?.catch(() => undefined)
        return asked
      }
      let next = ask(0)
      for (let start = idsAtOnce; next; start += idsAtOnce) {
        const text = String(await next)
        // Redis answers the next ones while these are read.
        next = ask(start)
        yield namedIn(text)
      }
    },

    async *names() {
      for await (const pairs of scan((cursor) =>
        answerOf(connection.hscan(secrets, cursor, 'COUNT', 1_000)),
      )) {
        yield pairs.map(([hash]) => hash)
      }
    },

    add(keys, progress) {
      return keys.length <= batchSize ? addBatch(keys) : addMany(keys, progress)
    },

    async replace(key, version) {
      const before = await findKey('id', key.id)
      const record = Array.isArray(before) ? String(before[0]) : ''
      // The line before is right if the version is, which the script sees to.
      const lineNames = [lineOf(key), lineOfRecord(key.id, record)]
      const hashes = key.secrets.map(({ hash }) => hash)
      const args = [key.id, version, recordOf(key), ...lineNames, ...hashes]
      return Number(await replaceKey(channel, ...args)) === 1
    },

    watch(listener: KeyListener) {
      const names = { records, versions, version, store, channel }
      const watch = watchKeys({ connection, ...names, clock }, listener)
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
  let asked: ReturnType<typeof next> | undefined = next('0')
  while (asked) {
    const [following, flat]: [string, string[]] = await asked
    // Redis answers the next ones while these are read.
    asked = following === '0' ? undefined : next(following)
    // If the reader stops before it, nobody takes its error.
    asked?.catch(() => undefined)
    const pairs: [string, string][] = []
    for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([flat[i] ?? '', flat[i + 1] ?? ''])
    yield pairs
  }
}

/** The keys of a text that `keys-names.lua` has written. */
function namedIn(text: string): Named[] {
  const words = text === '' ? [] : text.split('\0')
  const named: Named[] = []
  for (let i = 0; i + 2 < words.length; i += 3) {
    const [id = '', written = '', test] = [words[i], words[i + 1], words[i + 2]]
    const name = written.includes('\\') ? String(JSON.parse(`"${written}"`)) : written
    named.push(test ? { id, name, test: true } : { id, name })
  }
  return named
}
