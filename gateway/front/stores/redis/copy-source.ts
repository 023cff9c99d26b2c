import type { Redis } from 'ioredis'
import type { Clock } from '../../../../shared/clock.ts'
import { intactKeyFrom } from '../../keys/record.ts'
import type { StoredKey } from '../../keys/key.ts'
import { auditEntriesFrom, type AuditEntry } from '../../records/audit-store.ts'
import { usesFrom } from '../../keys/last-use-store.ts'
import type { CopySource, StoredQuota, StoredUses } from '../copy.ts'
import { readsOfDays } from '../copy-days.ts'
import { recordsOn } from '../records.ts'
import { redisCounts } from './counts.ts'
import { keepUntil } from '../keep-until.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import type { RedisFormat } from './format.ts'
import { redisFleet } from './fleet.ts'
import { redisLedger } from './ledger.ts'
import { lastUsesName } from './last-uses.ts'
import { stateOfHash } from './quota-hash.ts'
import { mastersOf, pairsOf, scanned } from './scan.ts'

const batchSize = 1_000

/** The time limit of a call. It is long, because only the copy waits. */
const timeoutMs = 10_000

export type RedisLocation = Readonly<{
  name: string
  connection: Connection
  /** The prefix of all names. */
  prefix: string
  format: RedisFormat
  clock: Clock
}>

/** Redis while it is read for a copy, and the number of its damaged entries. */
type Reading = RedisLocation & { damaged: number }

/** Redis as the source of a copy. Gateways may change it while it is read. */
export function redisSource(location: RedisLocation): CopySource {
  const { name, connection, prefix, clock } = location
  const reading: Reading = { ...location, damaged: 0 }
  const options = { connection, prefix, timeoutMs }
  const stores = {
    ...recordsOn(redisCounts(options)),
    ledger: redisLedger(options),
  }
  return {
    name,
    get damaged() {
      return reading.damaged
    },
    async gateways() {
      const { members, silent } = await redisFleet({ ...options, clock }).list()
      const names = members.map((member) => member.name)
      return [...names, ...(silent > 0 ? [`${silent} of another version`] : [])]
    },
    async keyCount() {
      const count = (what: string) => answerOf(connection.hlen(`${prefix}{keys}:${what}`))
      return (await count('records')) - (await count('pending'))
    },
    reads: {
      ...readsOfDays(stores, clock()),
      quotas: () => quotasIn(reading),
      lastUses: () => lastUsesIn(reading),
      audit: () => auditIn(reading),
      keys: () => keysIn(reading),
    },
    close() {
      connection.disconnect()
      return Promise.resolve()
    },
  }
}

async function* keysIn(reading: Reading): AsyncGenerator<StoredKey[]> {
  const { connection, prefix } = reading
  let from = 0
  // The number of keys with the version `from` that were read already.
  let alike = 0
  for (;;) {
    const flat = await answerOf(
      connection.zrangebyscore(
        ...([`${prefix}{keys}:versions`, from, '+inf', 'WITHSCORES'] as const),
        ...(['LIMIT', alike, batchSize] as const),
      ),
    )
    const versions = pairsOf(flat).map(([id, version]) => [id, Number(version)] as const)
    if (versions.length > 0) yield await keysOf(reading, versions)
    if (versions.length < batchSize) return
    const last = versions.at(-1)?.[1] ?? 0
    alike = (last === from ? alike : 0) + versions.filter(([, version]) => version === last).length
    from = last
  }
}

/** The keys of some ids with their versions, without those of an unfinished import. */
async function keysOf(
  reading: Reading,
  versions: readonly (readonly [id: string, version: number])[],
): Promise<StoredKey[]> {
  const ids = versions.map(([id]) => id)
  const valuesIn = (what: string) =>
    answerOf(reading.connection.hmget(`${reading.prefix}{keys}:${what}`, ...ids))
  const [texts, waits] = await Promise.all([valuesIn('records'), valuesIn('pending')])
  return versions.flatMap(([, version], index) => {
    const text = texts[index] ?? null
    if (text === null || waits[index] !== null) return []
    const key = intactKeyFrom(text)
    if (!key) reading.damaged++
    return key ? [{ key, version }] : []
  })
}

async function* quotasIn(reading: Reading): AsyncGenerator<StoredQuota[]> {
  const quotaPrefix = `${reading.prefix}quota:`
  for (const server of mastersOf(reading.connection)) {
    for await (const hashes of scanned(server, quotaPrefix)) {
      yield await quotasOf(reading, server, hashes, quotaPrefix.length)
    }
  }
}

async function quotasOf(
  reading: Reading,
  server: Redis,
  hashes: readonly string[],
  prefixLength: number,
): Promise<StoredQuota[]> {
  const nowMs = reading.clock()
  const asked = hashes.map((hash) => Promise.all([server.hgetall(hash), server.pttl(hash)]))
  const answers = await Promise.all(asked.map((each) => each.catch(() => undefined)))
  return answers.flatMap((answer, index): StoredQuota[] => {
    const [fields = {}, leftMs = 0] = answer ?? []
    // It has expired meanwhile.
    if (answer && leftMs === -2) return []
    const state = stateOfHash(fields)
    if (!state) reading.damaged++
    const quota = (hashes[index] ?? '').slice(prefixLength)
    const until = leftMs > 0 ? nowMs + leftMs : state && keepUntil(quota, state)
    return state && until !== undefined && until > nowMs
      ? [{ quota, state, keepUntilMs: until }]
      : []
  })
}

async function* lastUsesIn({ connection, prefix }: Reading): AsyncGenerator<StoredUses[]> {
  const name = lastUsesName(prefix)
  let cursor = '0'
  do {
    const [next, flat] = await answerOf(connection.hscan(name, cursor, 'COUNT', batchSize))
    yield pairsOf(flat).flatMap(([key, text]) => {
      const uses = usesFrom(text)
      return uses ? [{ key, uses }] : []
    })
    cursor = next
  } while (cursor !== '0')
}

async function* auditIn(reading: Reading): AsyncGenerator<AuditEntry[]> {
  const { connection, prefix } = reading
  let after = '-'
  for (;;) {
    const lines = await answerOf(
      connection.xrange(`${prefix}audit`, after, '+', 'COUNT', batchSize),
    )
    const entries = lines.flatMap(([, fields]) => auditEntriesFrom(fields[1]))
    reading.damaged += lines.length - entries.length
    yield entries
    if (lines.length < batchSize) return
    after = `(${lines.at(-1)?.[0]}`
  }
}
