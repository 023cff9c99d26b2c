import type { Clock } from '../../../../shared/clock.ts'
import { intactKeyFrom, keyFrom, type StoredKey } from '../../keys/key.ts'
import { lineOf } from '../../keys/line.ts'
import type { Named, Watch } from '../../keys/store.ts'
import { lineOfRecord, pageBy, type IndexedKeys } from '../key-index.ts'
import { keyAdder } from './add-keys.ts'
import { answerOf } from './answer.ts'
import { redisFormat, type RedisFormat } from './format.ts'
import { redisKeyIndex } from './key-index.ts'
import { keyNames, keyScripts } from './key-names.ts'
import { ahead, pairsOf } from './scan.ts'
import type { RedisOptions } from './script.ts'
import { watchKeys } from './watch-keys.ts'

/** Keys that are read by id per command: parsing them takes the gateway a millisecond. */
const idsAtOnce = 200

/** Records that are read per call. With 1,000, a caller's median wait beside a look at 100,000 keys is 8 ms, not 5. */
const recordsAtOnce = 300

/** Hashes of secrets that are read per call. */
const hashesAtOnce = 1_000

export type RedisKeyOptions = RedisOptions & Readonly<{ clock?: Clock; format?: RedisFormat }>

/**
 * Keys in Redis. All names share one slot of a Cluster (because of the braces), so that a change of a key,
 * its secrets and the count of changes is one step. The opener of the connection closes it.
 */
export function redisKeys(options: RedisKeyOptions): IndexedKeys {
  const { connection, prefix, clock = Date.now } = options
  const names = keyNames(prefix)
  const format = options.format ?? redisFormat(connection, prefix)
  const bound = keyScripts(options)
  const ask = bound('keys-find.lua', 'secrets', 'records', 'versions', 'pending')
  const readNames = bound('keys-names.lua', 'records', 'pending')
  const changed = ['secrets', 'records', 'versions', 'version', 'lines', 'linedUpTo'] as const
  const replace = bound('keys-replace.lua', ...changed)
  const remove = bound('keys-remove.lua', 'records', 'versions', 'lines', 'used')
  const index = redisKeyIndex(options)
  const watches = new Set<Watch>()

  /** The line of a key as it is stored: the right one if the version is, which the scripts see to. */
  const storedLine = async (id: string): Promise<string> => {
    const stored = await ask('id', id)
    return lineOfRecord(id, Array.isArray(stored) ? String(stored[0]) : '')
  }

  return {
    index,
    add: keyAdder(options),
    find: async (hash) => storedFrom(await ask('hash', hash)),
    get: async (id) => storedFrom(await ask('id', id)),

    async *list() {
      for await (const records of recordsIn(options, recordsAtOnce)) {
        for (const [, record] of records) {
          const key = intactKeyFrom(record)
          if (key) yield key
        }
      }
    },

    page: (query) => pageBy(index, query),

    async *named(ids) {
      let start = 0
      const askOn = (): Promise<unknown> | undefined => {
        const some = ids.slice(start, (start += idsAtOnce))
        return some.length > 0 ? readNames(...some) : undefined
      }
      for await (const text of ahead(askOn)) yield namedIn(String(text))
    },

    async *names() {
      for await (const pairs of fieldsIn(options, names.secrets, hashesAtOnce)) {
        yield pairs.map(([hash]) => hash)
      }
    },

    async replace(key, version) {
      const lines = [lineOf(key), await storedLine(key.id)]
      const hashes = key.secrets.map(({ hash }) => hash)
      const args = [names.channel, key.id, version, JSON.stringify(key), ...lines, ...hashes]
      return Number(await replace(...args)) === 1
    },

    remove: async ({ key, version }) =>
      Number(await remove(key.id, version, await storedLine(key.id))) === 1,

    watch(listener) {
      const watch = watchKeys({ connection, names, format, clock, listener })
      watches.add(watch)
      return watch
    },

    close() {
      watches.forEach((watch) => watch.close())
      return Promise.resolve()
    },
  }
}

/** The ids and records of keys, some at a time, without those of an unfinished import. One may come twice. */
export async function* recordsIn(
  options: Pick<RedisOptions, 'connection' | 'prefix'>,
  size: number,
) {
  const { records, pending } = keyNames(options.prefix)
  for await (const pairs of fieldsIn(options, records, size)) {
    if (pairs.length === 0) continue
    const ids = pairs.map(([id]) => id)
    const waits = await answerOf(options.connection.hmget(pending, ...ids))
    yield pairs.filter((_, i) => waits[i] === null)
  }
}

/** All pairs of a hash, in batches; a pair may come twice while the hash grows. */
async function* fieldsIn(
  { connection }: Pick<RedisOptions, 'connection'>,
  hash: string,
  size: number,
) {
  const read = (cursor: string) => answerOf(connection.hscan(hash, cursor, 'COUNT', size))
  const askOn = (before?: [cursor: string, flat: string[]]) =>
    before?.[0] === '0' ? undefined : read(before?.[0] ?? '0')
  for await (const [, flat] of ahead(askOn)) yield pairsOf(flat)
}

function storedFrom(answer: unknown): StoredKey | undefined {
  if (!Array.isArray(answer)) return undefined
  return { key: keyFrom(String(answer[0])), version: Number(answer[1]) }
}

/** The keys of a text that `keys-names.lua` has written. */
function namedIn(text: string): Named[] {
  const words = text === '' ? [] : text.split('\0')
  const named: Named[] = []
  for (let i = 0; i + 3 < words.length; i += 4) {
    const [id = '', name = '', reference = '', test] = words.slice(i, i + 4)
    const known = reference !== '' && { reference: unescaped(reference) }
    named.push({ id, name: unescaped(name), ...known, ...(test && { test: true }) })
  }
  return named
}

/** A text as JSON has it between its quotes. */
function unescaped(written: string): string {
  return written.includes('\\') ? String(JSON.parse(`"${written}"`)) : written
}
