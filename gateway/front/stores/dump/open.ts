import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Clock } from '../../../../shared/clock.ts'
import type { RedisSettings, StoreSettings } from '../../config/config.ts'
import { readFile } from '../embedded/dump.ts'
import { isNewFile, writtenFile } from '../embedded/load.ts'
import type { Key } from '../../keys/key.ts'
import { firstNames } from '../../records/audit-store.ts'
import { connect } from '../redis/connect.ts'
import { readRedis, writtenRedis, type RedisLocation } from '../redis/dump.ts'
import { redisFormat } from '../redis/format.ts'
import { plainCause, redisName } from '../redis/name.ts'
import { kinds } from './kinds.ts'
import type { ReadStore, WrittenStore } from './store.ts'

/** The time limit for an answer of Redis: an operator waits for it. */
const timeoutMs = 10_000

export function isSameStore(one: StoreSettings, other: StoreSettings): boolean {
  return identityOf(one) === identityOf(other)
}

/** Opens a store that is dumped. Nothing is written there. */
export async function openToRead(settings: StoreSettings, clock: Clock): Promise<ReadStore> {
  const { redis, file, prefix } = settings
  return redis ? readRedis(await connected(redis, prefix, clock)) : readFile(file, clock)
}

/** Opens a store that is loaded. A new file is in its place when it is finished. */
export async function openToWrite(settings: StoreSettings, clock: Clock): Promise<WrittenStore> {
  const { redis, file, prefix } = settings
  return redis ? writtenRedis(await connected(redis, prefix, clock)) : writtenFile(file, clock)
}

/** Throws a sentence unless a store is one that may be loaded. Changes nothing. */
export async function requireRoomIn(settings: StoreSettings, clock: Clock): Promise<void> {
  if (!settings.redis && isNewFile(settings.file)) return
  const store = await openToRead(settings, clock)
  try {
    await requireRoom(store, settings.redis !== undefined, clock())
  } finally {
    await store.close()
  }
}

async function connected(
  redis: RedisSettings,
  prefix: string,
  clock: Clock,
): Promise<RedisLocation> {
  const name = redisName(redis)
  const connection = connect(redis, { timeoutMs, patient: true })
  let lastError: unknown
  connection.on('error', (error: unknown) => (lastError = error))
  const format = redisFormat(connection, prefix)
  try {
    await format.require()
    return { name, connection, prefix, format, clock }
  } catch (error) {
    connection.disconnect()
    if (format.fault) throw format.fault
    throw new Error(`${name} can't be reached: ${plainCause(lastError ?? error)}`, { cause: error })
  }
}

function identityOf({ redis, file, prefix }: StoreSettings): string {
  if (redis) return JSON.stringify([redis, prefix])
  return existsSync(file) ? realpathSync(file) : resolve(file)
}

/** A store that is loaded may have lines of audit; last uses are those of keys. */
const kindsThatCount = kinds.filter(({ name }) => name !== 'audit' && name !== 'uses')

/** Throws a sentence that says whose a store is, unless it has no keys, quotas, counts and closed days. */
async function requireRoom(store: ReadStore, mayServe: boolean, nowMs: number): Promise<void> {
  const gateways = await store.gateways()
  if (!mayServe && gateways.length > 0) {
    throw new Error(`a gateway counts in ${store.name}: stop it first. Nothing was written`)
  }
  const contents: string[] = []
  const reading = { nowMs, damaged: 0 }
  for (const kind of kindsThatCount) {
    for await (const rows of kind.rows(store, reading)) {
      if (rows.length === 0) continue
      const keys = rows.flatMap((row) => (row.shelf === 'keys' ? [row.key as Key] : []))
      contents.push(keys.length > 0 ? `keys (${firstNames(keys).join(', ')} …)` : kind.name)
      break
    }
  }
  if (contents.length === 0 && reading.damaged === 0) return
  const by = gateways.length > 0 ? `, and ${gateways.join(', ')} uses it` : ''
  throw new Error(
    `${store.name} isn't empty: it has ${contents.join(', ')}${by}. Nothing was written. Name an empty store, or remove what a ` +
      'load that was broken off has left; tollgate keys import adds keys to a store in use',
  )
}
