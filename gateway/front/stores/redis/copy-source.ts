import type { Redis } from 'ioredis'
import type { Clock } from '../../../../shared/clock.ts'
import { intactKeyFrom } from '../../keys/record.ts'
import type { StoredKey } from '../../keys/key.ts'
import { dayMs } from '../../../../shared/windows.ts'
import { auditEntriesFrom } from '../../records/audit-store.ts'
import { usesFrom } from '../../keys/last-use-store.ts'
import type { CopySource, StoredQuota } from '../copy.ts'
import { keepUntil } from '../keep-until.ts'
import { closedDays } from '../closed-days.ts'
import { rememberedDays, type Tally } from '../../counts/tally-store.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import { redisFleet } from './fleet.ts'
import { redisLedger } from './ledger.ts'
import { lastUsesName } from './last-uses.ts'
import { redisPeaks } from './peaks.ts'
import { stateOfHash } from './quota-hash.ts'
import { mastersOf, scanned } from './scan.ts'

const batchSize = 1_000

/** The time limit of a call. It is long, because only the copy waits. */
const timeoutMs = 10_000

export type RedisLocation = Readonly<{
  name: string
  connection: Connection
  /** The prefix of all names. */
  prefix: string
  clock: Clock
}>

/** Redis as the source of a copy. Gateways may change it while it is read. */
export function redisSource({ name, connection, prefix, clock }: RedisLocation): CopySource {
  const ofKeys = (what: string): string => `${prefix}{keys}:${what}`
  const [records, versions, pending] = [ofKeys('records'), ofKeys('versions'), ofKeys('pending')]
  let damaged = 0

  /** The keys of some ids with their versions, without those of an unfinished import. */
  async function keysOf(ids: readonly string[], scores: readonly number[]): Promise<StoredKey[]> {
    const [texts, waits] = await Promise.all([
      answerOf(connection.hmget(records, ...ids)),
      answerOf(connection.hmget(pending, ...ids)),
    ])
    return texts.flatMap((text, index) => {
      if (text === null || waits[index] !== null) return []
      const key = intactKeyFrom(text)
      if (!key) damaged++
      return key ? [{ key, version: scores[index] ?? 0 }] : []
    })
  }

  return {
    name,

    get damaged() {
      return damaged
    },

    async gateways() {
      const { members, silent } = await redisFleet({ connection, prefix, timeoutMs, clock }).list()
      const names = members.map((member) => member.name)
      return [...names, ...(silent > 0 ? [`${silent} of another version`] : [])]
    },

    async keyCount() {
      return (await answerOf(connection.hlen(records))) - (await answerOf(connection.hlen(pending)))
    },

    async *keys() {
      let from = 0
      // The number of keys with the version `from` that were read already.
      let alike = 0
      for (;;) {
        const flat = await answerOf(
          connection.zrangebyscore(versions, from, '+inf', 'WITHSCORES', 'LIMIT', alike, batchSize),
        )
        const ids = flat.filter((_text, index) => index % 2 === 0)
        const scores = flat.filter((_text, index) => index % 2 === 1).map(Number)
        if (ids.length > 0) yield await keysOf(ids, scores)
        if (ids.length < batchSize) return
        const last = scores.at(-1) ?? 0
        alike = (last === from ? alike : 0) + scores.filter((score) => score === last).length
        from = last
      }
    },

    async *quotas() {
      const quotaPrefix = `${prefix}quota:`
      for (const server of mastersOf(connection)) {
        for await (const hashes of scanned(server, quotaPrefix)) {
          yield await quotasIn(server, hashes, quotaPrefix.length)
        }
      }
    },

    async *tallies() {
      const today = Math.floor(clock() / dayMs)
      for (let day = today - rememberedDays + 1; day <= today; day++) {
        yield* talliesOf(connection, `${prefix}{tallies:${day}}`, day)
      }
    },

    async *peaks() {
      const today = Math.floor(clock() / dayMs)
      const peaks = redisPeaks({ connection, prefix, timeoutMs })
      yield* peaks.list(today - rememberedDays + 1, today)
    },

    ledger: () => closedDays(redisLedger({ connection, prefix }), clock()),

    async *lastUses() {
      const name = lastUsesName(prefix)
      let cursor = '0'
      do {
        const [next, flat] = await answerOf(connection.hscan(name, cursor, 'COUNT', batchSize))
        const keys = flat.filter((_text, index) => index % 2 === 0)
        yield keys.flatMap((key, index) => {
          const uses = usesFrom(flat[2 * index + 1])
          return uses ? [{ key, uses }] : []
        })
        cursor = next
      } while (cursor !== '0')
    },

    async *audit() {
      let after = '-'
      for (;;) {
        const lines = await answerOf(
          connection.xrange(`${prefix}audit`, after, '+', 'COUNT', batchSize),
        )
        const entries = lines.flatMap(([, fields]) => auditEntriesFrom(fields[1]))
        damaged += lines.length - entries.length
        yield entries
        if (lines.length < batchSize) return
        after = `(${lines.at(-1)?.[0]}`
      }
    },

    close() {
      connection.disconnect()
      return Promise.resolve()
    },
  }

  async function quotasIn(
    server: Redis,
    hashes: readonly string[],
    prefixLength: number,
  ): Promise<StoredQuota[]> {
    const nowMs = clock()
    const asked = hashes.map((hash) => Promise.all([server.hgetall(hash), server.pttl(hash)]))
    const answers = await Promise.all(asked.map((each) => each.catch(() => undefined)))
    return answers.flatMap((answer, index): StoredQuota[] => {
      const [fields = {}, leftMs = 0] = answer ?? []
      // It has expired meanwhile.
      if (answer && leftMs === -2) return []
      const state = stateOfHash(fields)
      if (!state) damaged++
      const quota = (hashes[index] ?? '').slice(prefixLength)
      const until = leftMs > 0 ? nowMs + leftMs : state && keepUntil(quota, state)
      return state && until !== undefined && until > nowMs
        ? [{ quota, state, keepUntilMs: until }]
        : []
    })
  }
}

async function* talliesOf(
  connection: Connection,
  hash: string,
  day: number,
): AsyncGenerator<Tally[]> {
  let cursor = '0'
  do {
    const [next, flat] = await answerOf(
      connection.hscan(hash, cursor, 'MATCH', 'count *', 'COUNT', batchSize),
    )
    const names = flat.filter((_text, index) => index % 2 === 0).map((field) => field.slice(6))
    const counts = flat.filter((_text, index) => index % 2 === 1).map(Number)
    if (names.length > 0) {
      const lasts = await answerOf(connection.hmget(hash, ...names.map((name) => `last ${name}`)))
      yield names.map((name, index) => {
        const end = name.indexOf(' ')
        const [count = 0, lastMs] = [counts[index], Number(lasts[index] ?? 0)]
        return { day, key: name.slice(0, end), what: name.slice(end + 1), count, lastMs }
      })
    }
    cursor = next
  } while (cursor !== '0')
}
