import type { Clock } from '../../../../shared/clock.ts'
import { StoreDamaged } from '../../../../shared/store-errors.ts'
import { fleetOn } from '../../fleet/shared-fleet.ts'
import { intactKeyFrom } from '../../keys/key.ts'
import type { QuotaState } from '../../limits/quota-state.ts'
import { auditOn } from '../../records/audit-list.ts'
import { ledgerOn } from '../../records/ledger-store.ts'
import { damaged, type Found, type ReadStore, type WrittenStore } from '../dump/store.ts'
import { keepUntil } from '../keep-until.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import { redisDocuments } from './documents.ts'
import type { RedisFormat } from './format.ts'
import { keyNames } from './key-names.ts'
import { recordsIn, redisKeys } from './keys.ts'
import { redisLastUses, usesPutter } from './last-uses.ts'
import { redisLists } from './lists.ts'
import { hashOfState, stateOfHash } from './quota-hash.ts'
import { scanned } from './scan.ts'
import { redisCounts } from './counts.ts'

/** Records that are read per call. */
const batchSize = 500

/** The time limit of a call. It is long, because only an operator waits. */
const timeoutMs = 10_000

/** A Redis that is dumped or loaded. Gateways may serve from it meanwhile. */
export type RedisLocation = Readonly<{
  name: string
  connection: Connection
  /** The prefix of all names. */
  prefix: string
  format: RedisFormat
  clock: Clock
}>

export function readRedis(location: RedisLocation): ReadStore {
  const { name, connection, prefix } = location
  const options = { connection, prefix, timeoutMs }
  const documents = redisDocuments(options)
  return {
    name,
    async gateways() {
      const { members, silent } = await fleetOn(documents).list()
      const names = members.map((member) => member.name)
      return [...names, ...(silent > 0 ? [`${silent} of another version`] : [])]
    },
    keys: keysIn(location),
    quotas: quotasIn(location),
    counts: redisCounts(options),
    lastUses: redisLastUses(options),
    audit: auditOn(redisLists(options)),
    ledger: ledgerOn(documents),
    close: () => Promise.resolve(connection.disconnect()),
  }
}

export async function writtenRedis(location: RedisLocation): Promise<WrittenStore> {
  const { connection, prefix, format } = location
  const options = { connection, prefix, timeoutMs }
  const lists = redisLists(options)
  // The record of the store comes before anything else.
  await format.look()
  return {
    keys: redisKeys(options),
    counts: redisCounts(options),
    ledger: ledgerOn(redisDocuments(options)),
    audit: auditOn(lists),
    lists,
    putQuotas: quotaPutter(location),
    putUses: usesPutter(options),
    finish: () => Promise.resolve(),
    close: () => Promise.resolve(connection.disconnect()),
  }
}

function keysIn(location: RedisLocation): ReadStore['keys'] {
  const { connection, prefix } = location
  const { records } = keyNames(prefix)
  return {
    async names() {
      const names = new Set<string>()
      for await (const some of recordsIn(location, batchSize)) {
        for (const [id] of some) names.add(id)
      }
      return [...names]
    },
    async of(names) {
      if (names.length === 0) return []
      const texts = await answerOf(connection.hmget(records, ...names))
      return texts.map((text) => (text === null ? undefined : (intactKeyFrom(text) ?? damaged)))
    },
  }
}

function quotasIn({ connection, prefix, clock }: RedisLocation): ReadStore['quotas'] {
  const quotaPrefix = `${prefix}quota:`
  return {
    async names() {
      const names = new Set<string>()
      for await (const { names: hashes } of scanned(connection, quotaPrefix)) {
        for (const hash of hashes) names.add(hash.slice(quotaPrefix.length))
      }
      return [...names]
    },
    of: (names) =>
      Promise.all(
        names.map(async (quota) => {
          const state = await quotaOf(connection, quotaPrefix + quota)
          const isOver = state && state !== damaged && keepUntil(state) <= clock()
          return isOver ? undefined : state
        }),
      ),
  }
}

/** A quota at one moment. */
async function quotaOf(connection: Connection, hash: string): Promise<Found<QuotaState>> {
  try {
    const fields = await answerOf(connection.hgetall(hash))
    return Object.keys(fields).length > 0 ? (stateOfHash(fields) ?? damaged) : undefined
  } catch (error) {
    if (error instanceof StoreDamaged) return damaged
    throw error
  }
}

function quotaPutter({ connection, prefix, clock }: RedisLocation): WrittenStore['putQuotas'] {
  return async (quotas) => {
    const nowMs = clock()
    const sent = quotas.map(async ({ quota, state }) => {
      const hash = `${prefix}quota:${quota}`
      const { counters, fields } = hashOfState(state)
      const leftMs = Math.ceil(keepUntil(state) - nowMs)
      if (leftMs <= 0) return
      // Scripts look for the others only where the counters have this mark.
      const mark = fields.some(([name]) => name.startsWith('k:') || name === 'n') ? ',k' : ''
      await connection.hset(hash, new Map([['c', counters + mark], ...fields]))
      await connection.pexpire(hash, leftMs)
    })
    await answerOf(Promise.all(sent))
    // Hashes alone can't be listed: a Cluster spreads them.
    const bans = quotas.flatMap(({ quota, state }) =>
      [...(state.conducts ?? [])].flatMap(([key, { bannedUntilMs }]) =>
        bannedUntilMs > nowMs ? [[bannedUntilMs, JSON.stringify([key, quota])] as const] : [],
      ),
    )
    for (let start = 0; start < bans.length; start += batchSize) {
      const some = bans.slice(start, start + batchSize).flat()
      await answerOf(connection.zadd(`${prefix}bans`, ...some))
    }
  }
}
