import { hash } from 'node:crypto'
import { breathe } from '../../../../shared/breathe.ts'
import { listStart, type Entry, type Lists } from '../../shelves/lists.ts'
import { answerOf } from './answer.ts'
import { keyedScript, type RedisOptions } from './script.ts'

/** Entries that are read per call, and in the first one: most ask for the latest few. */
const [pageSize, firstPage] = [500, 100]

/** The least time limit of an addition, which may be large. */
const addTimeoutMs = 2_000

/** The bytes of an entry's place: four of the hash of its key, six of its id's time, two of its id's number. */
const [hashLength, timeLength, placeLength] = [4, 6, 12]

/** Bytes of places that are read per call: an answer of a megabyte would hold other callers up. */
const pieceLength = 8_000 * placeLength

type Fields = readonly [id: string, fields: readonly string[]]

/**
 * Lists in Redis: a stream each, and beside it the places of the latest entries with keys, as one text of 12 bytes an entry. To
 * find those of a key, that is read, and of the stream nothing else.
 */
export function redisLists(options: Omit<RedisOptions, 'breaker'>): Lists {
  const { connection, prefix, testClock } = options
  const timeoutMs = Math.max(options.timeoutMs, addTimeoutMs)
  const append = keyedScript({ connection, timeoutMs, file: 'lists-add.lua' })
  const streamOf = (name: string): string => `${prefix}{list:${name}}`
  const placesOf = (name: string): string => `${prefix}{list:${name}}:places`

  return {
    async add({ name, most, keptMs = 0 }, entries) {
      const args = entries.flatMap(({ key, body }) => [hashOf(key), key, body])
      await append([streamOf(name), placesOf(name)], testClock?.() ?? '', most, keptMs, ...args)
    },

    async since({ name }, cursor) {
      const stream = streamOf(name)
      if (cursor === undefined) {
        const [newest] = await answerOf(connection.xrevrange(stream, '+', '-', 'COUNT', 1))
        return { entries: [], cursor: newest?.[0] ?? listStart }
      }
      const found = await answerOf(connection.xrange(stream, `(${cursor}`, '+', 'COUNT', pageSize))
      return { entries: found.map(entryOf), cursor: found.at(-1)?.[0] ?? cursor }
    },

    async *back({ name }, key) {
      const stream = streamOf(name)
      if (key !== undefined) return yield* ofKey(stream, placesOf(name), key)
      for (let [end, size] = ['+', firstPage]; ; size = pageSize) {
        const page = await answerOf(connection.xrevrange(stream, end, '-', 'COUNT', size))
        yield page.map(entryOf)
        if (page.length < size) return
        end = `(${page.at(-1)?.[0]}`
        await breathe()
      }
    },

    async forget({ name }, cursor) {
      const [time = '', number] = cursor.split('-')
      const next = `${time}-${Number(number ?? 0) + 1}`
      await answerOf(connection.xtrim(streamOf(name), 'MINID', next))
    },
  }

  async function* ofKey(stream: string, places: string, key: string) {
    const hash = hashOf(key)
    for (let end = await answerOf(connection.strlen(places)); end > 0; end -= pieceLength) {
      const start = Math.max(0, end - pieceLength)
      const piece = await answerOf(connection.getrangeBuffer(places, start, end - 1))
      const ids = idsOf(piece, hash)
      for (let i = 0; i < ids.length; i += firstPage) {
        const asked = ids.slice(i, i + firstPage).map((id) => connection.xrange(stream, id, id))
        const found = await answerOf(Promise.all(asked))
        yield found.flatMap((entries) => entries.map(entryOf)).filter((each) => each.key === key)
      }
    }
  }
}

/** An entry of a stream: its field is the key, because a second one would make reads a third dearer. */
function entryOf([, [key = '', body = '']]: Fields): Entry {
  return { key, body }
}

function hashOf(key: string): Buffer | '' {
  return key === '' ? '' : hash('sha256', key, 'buffer').subarray(0, hashLength)
}

/** The ids of the entries whose keys have a hash, the newest first. */
function idsOf(places: Buffer, wanted: Buffer | ''): string[] {
  const ids: string[] = []
  if (wanted === '') return ids
  const hash = wanted.readInt32BE()
  for (let at = places.length - placeLength; at >= 0; at -= placeLength) {
    if (places.readInt32BE(at) !== hash) continue
    const timeMs = places.readUIntBE(at + hashLength, timeLength)
    ids.push(`${timeMs}-${places.readUInt16BE(at + hashLength + timeLength)}`)
  }
  return ids
}
