import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import type { RedisSettings, StoreSettings } from '../config/config.ts'
import type { CopyGoal, CopySource } from './copy.ts'
import { embeddedGoal } from './embedded/copy-goal.ts'
import { embeddedSource } from './embedded/copy-source.ts'
import { connect } from './redis/connect.ts'
import { redisGoal } from './redis/copy-goal.ts'
import { redisSource, type RedisLocation } from './redis/copy-source.ts'
import { RedisFormat } from './redis/format.ts'
import { plainCause, redisName } from './redis/name.ts'

/** The time limit of a copy for an answer of Redis. */
const timeoutMs = 10_000

export function isSameStore(one: StoreSettings, other: StoreSettings): boolean {
  return identityOf(one) === identityOf(other)
}

export async function openSource(settings: StoreSettings, clock: Clock): Promise<CopySource> {
  const { redis, file, prefix } = settings
  return redis ? redisSource(await connected(redis, prefix, clock)) : embeddedSource(file, clock)
}

/** Opens the goal of a copy. A missing file is made when something is put. */
export async function openGoal(settings: StoreSettings, clock: Clock): Promise<CopyGoal> {
  const { redis, file, prefix } = settings
  return redis ? redisGoal(await connected(redis, prefix, clock)) : embeddedGoal(file, clock)
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
  const format = new RedisFormat(connection, prefix)
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
