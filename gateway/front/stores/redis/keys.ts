import type { Clock } from '../../../../shared/clock.ts'
import { intactKeyFrom, keyFrom, recordOf } from '../../keys/record.ts'
import type { Key, StoredKey } from '../../keys/key.ts'
import { lineOf } from '../../keys/line.ts'
import type {
  Added,
  KeyListener,
  KeyPage,
  Keys,
  KeyStore,
  Named,
  PageQuery,
  Watch,
} from '../../keys/store.ts'
import { lineOfRecord, pageBy, type KeyIndex } from '../key-index.ts'
import { KeyAdder } from './add-keys.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import { RedisFormat } from './format.ts'
import { redisKeyIndex } from './key-index.ts'
import { lastUsesName } from './last-uses.ts'
import { keyNames, type KeyNames } from './key-names.ts'
import { script, type RedisOptions, type Script } from './script.ts'
import { RedisWatch } from './watch-keys.ts'

/** Keys that are read by id per command: parsing them takes the gateway a millisecond. */
const idsAtOnce = 200

/** The time limit of a call of the index. It is long, because only an operator waits. */
const indexTimeoutMs = 1_000

/** Records that are read per call. With 1,000, a caller's median wait beside a look at 100,000 keys is 8 ms, not 5. */
const recordsAtOnce = 300

/** A store of keys with its index, which can be brought up to date before anybody asks for a page. */
export type IndexedKeys = KeyStore & Readonly<{ index: KeyIndex }>

export type RedisKeyOptions = RedisOptions & Readonly<{ clock?: Clock; format?: RedisFormat }>

/**
 * Keys in Redis. All names share one slot of a Cluster (because of the braces), so that a change of a key,
 * its secrets and the count of changes is one step. The opener of the connection closes it.
 */
export class RedisKeys implements IndexedKeys {
  readonly index: KeyIndex
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #names: KeyNames
  readonly #format: RedisFormat
  readonly #find: Script
  readonly #readNames: Script
  readonly #replace: Script
  readonly #remove: Script
  readonly #adder: KeyAdder
  readonly #watches = new Set<Watch>()

  constructor(options: RedisKeyOptions) {
    const { connection, prefix, clock = Date.now } = options
    const names = keyNames(prefix)
    const { secrets, records, versions, pending, version, lines, linedUpTo } = names
    this.#connection = connection
    this.#clock = clock
    this.#names = names
    this.#format = options.format ?? new RedisFormat(connection, prefix)
    const bound = (file: string, names: readonly string[]) => script({ ...options, file }, names)
    this.#find = bound('keys-find.lua', [secrets, records, versions, pending])
    this.#readNames = bound('keys-names.lua', [records, pending])
    const changed = [secrets, records, versions, version, lines, linedUpTo]
    this.#replace = bound('keys-replace.lua', changed)
    this.#remove = bound('keys-remove.lua', [records, versions, lines, lastUsesName(prefix)])
    this.#adder = new KeyAdder(options, names)
    this.index = indexIn(options, names)
  }

  async find(hash: string): Promise<StoredKey | undefined> {
    return storedFrom(await this.#find('hash', hash))
  }

  async get(id: string): Promise<StoredKey | undefined> {
    return storedFrom(await this.#find('id', id))
  }

  async *list(): AsyncGenerator<Key> {
    const connection = this.#connection
    const { records, pending } = this.#names
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
  }

  page(query: PageQuery): Promise<KeyPage> {
    return pageBy(this.index, query)
  }

  async *named(ids: readonly string[]): AsyncGenerator<readonly Named[]> {
    const ask = (start: number): Promise<unknown> | undefined => {
      const some = ids.slice(start, start + idsAtOnce)
      const asked = some.length > 0 ? this.#readNames(...some) : undefined
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
  }

  async *names(): AsyncGenerator<readonly string[]> {
    for await (const pairs of scan((cursor) =>
      answerOf(this.#connection.hscan(this.#names.secrets, cursor, 'COUNT', 1_000)),
    )) {
      yield pairs.map(([hash]) => hash)
    }
  }

  add(keys: Keys, progress?: (written: number) => void): Promise<Added> {
    return this.#adder.add(keys, progress)
  }

  async replace(key: Key, version: number): Promise<boolean> {
    const before = await this.#find('id', key.id)
    const record = Array.isArray(before) ? String(before[0]) : ''
    // The line before is right if the version is, which the script sees to.
    const lines = [lineOf(key), lineOfRecord(key.id, record)]
    const hashes = key.secrets.map(({ hash }) => hash)
    const args = [key.id, version, recordOf(key), ...lines, ...hashes]
    return Number(await this.#replace(this.#names.channel, ...args)) === 1
  }

  async remove({ key, version }: StoredKey): Promise<boolean> {
    const before = await this.#find('id', key.id)
    const record = Array.isArray(before) ? String(before[0]) : ''
    const line = lineOfRecord(key.id, record)
    return Number(await this.#remove(key.id, version, line)) === 1
  }

  watch(listener: KeyListener): Watch {
    const [connection, names, clock] = [this.#connection, this.#names, this.#clock]
    const watch = new RedisWatch({ connection, names, format: this.#format, clock, listener })
    this.#watches.add(watch)
    return watch
  }

  close(): Promise<void> {
    this.#watches.forEach((watch) => watch.close())
    return Promise.resolve()
  }
}

/** The index of keys. Requests don't wait for it, so a slow answer says nothing about decisions. */
function indexIn({ connection, timeoutMs }: RedisOptions, names: KeyNames): KeyIndex {
  const { records, versions, pending, version, lines, linedUpTo } = names
  const bound = (file: string, names: readonly string[]) =>
    script({ connection, timeoutMs: Math.max(timeoutMs, indexTimeoutMs), file }, names)
  return redisKeyIndex({
    walk: bound('keys-walk.lua', [lines, records, versions, pending]),
    missingLines: bound('keys-missing-lines.lua', [records, versions, version, lines, linedUpTo]),
    line: bound('keys-line.lua', [lines, linedUpTo, versions]),
    removeLines: bound('keys-remove-lines.lua', [lines, versions]),
  })
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
