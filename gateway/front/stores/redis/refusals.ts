import {
  chunksKept,
  storedMs,
  type RefusalIndex,
  type RefusalStore,
} from '../../counts/refusal-store.ts'
import { answerOf } from './answer.ts'
import { keyedScript, type RedisOptions } from './script.ts'

/** The most processes whose chunks are kept: those of this fleet, and of those that it has had. */
const mostProcesses = 200

const keepSeconds = storedMs / 1_000

const places = Array.from({ length: chunksKept }, (_, place) => place)

/**
 * Refused and failed answers in Redis: a hash for each chunk, so that Redis forgets each by itself, and a set of the
 * processes that have any.
 */
export function redisRefusals(options: RedisOptions): RefusalStore {
  const { connection, prefix } = options
  const putChunk = keyedScript({ ...options, file: 'refusals-put.lua' })
  const processes = `${prefix}refusals`
  const hashOf = (by: string, place: number): string => `${prefix}{refusals:${by}}:${place}`

  return {
    async put({ by, place, lastMs, hashes, answers }) {
      // All at once: a flood puts 80 chunks in 4 s.
      const [, , tooMany] = await Promise.all([
        answerOf(connection.zadd(processes, lastMs, by)),
        answerOf(connection.expire(processes, keepSeconds)),
        answerOf(connection.zrange(processes, 0, String(-mostProcesses - 1))),
        putChunk(hashOf(by, place), indexText(lastMs, hashes), answers, keepSeconds),
      ])
      for (const each of tooMany) await forget(each)
    },

    async indexes(afterMs) {
      const indexes: RefusalIndex[] = []
      const some = await answerOf(connection.zrangebyscore(processes, `(${afterMs}`, '+inf'))
      for (const by of some) {
        const asked = places.map((place) => connection.hgetBuffer(hashOf(by, place), 'index'))
        const texts = await answerOf(Promise.all(asked))
        indexes.push(...texts.flatMap((text, place) => indexFrom(text, by, place)))
      }
      return indexes.filter(({ lastMs }) => lastMs > afterMs)
    },

    async answers({ by, place }) {
      return (await answerOf(connection.hgetBuffer(hashOf(by, place), 'answers'))) ?? undefined
    },
  }

  async function forget(by: string): Promise<void> {
    await answerOf(connection.del(...places.map((place) => hashOf(by, place))))
    await answerOf(connection.zrem(processes, by))
  }
}

const timeLength = 8

function indexText(lastMs: number, hashes: Buffer): Buffer {
  const time = Buffer.alloc(timeLength)
  time.writeDoubleLE(lastMs)
  return Buffer.concat([time, hashes])
}

function indexFrom(text: Buffer | null, by: string, place: number): RefusalIndex[] {
  if (!text || text.length < timeLength) return []
  return [{ by, place, lastMs: text.readDoubleLE(), hashes: text.subarray(timeLength) }]
}
