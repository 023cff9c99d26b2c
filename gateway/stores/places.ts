import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Clock } from '../../shared/clock.ts'
import type { RedisSettings, StoreSettings } from '../config/config.ts'
import type { CopyGoal, CopySource } from './copy.ts'
import { embeddedGoal } from './embedded/copy-goal.ts'
import { embeddedSource } from './embedded/copy-source.ts'
import { connect } from './redis/connect.ts'
import { redisGoal } from './redis/copy-goal.ts'
import { redisSource, type RedisPlace } from './redis/copy-source.ts'
import { plainCause, redisName } from './redis/name.ts'

/** How long a copy waits for an answer of Redis. */
const timeoutMs = 10_000

/** How messages call the store of some settings; never with a password. */
export function storeName({ redis, file }: StoreSettings): string {
  return redis ? redisName(redis) : file
}

export function isSameStore(one: StoreSettings, other: StoreSettings): boolean {
  return identityOf(one) === identityOf(other)
}

export async function openSource(settings: StoreSettings, clock: Clock): Promise<CopySource> {
  const { redis, file, prefix } = settings
  return redis ? redisSource(await placeIn(redis, prefix, clock)) : embeddedSource(file, clock)
}

/** Opens what a copy is written to; a file that is not there is begun, unless nothing is to be written. */
export async function openGoal(
  settings: StoreSettings,
  clock: Clock,
  isDryRun: boolean,
): Promise<CopyGoal> {
  const { redis, file, prefix } = settings
  if (redis) return redisGoal(await placeIn(redis, prefix, clock))
  return isDryRun && !existsSync(file) ? nothingAt(file) : embeddedGoal(file, clock)
}

async function placeIn(redis: RedisSettings, prefix: string, clock: Clock): Promise<RedisPlace> {
  const name = redisName(redis)
  const connection = connect(redis, { timeoutMs, patient: true })
  let lastError: unknown
  connection.on('error', (error: unknown) => (lastError = error))
  try {
    await connection.ping()
    return { name, connection, prefix, clock }
  } catch (error) {
    connection.disconnect()
    throw new Error(`${name} can't be reached: ${plainCause(lastError ?? error)}`, { cause: error })
  }
}

/** A file that isn't there, for who only counts. */
function nothingAt(file: string): CopyGoal {
  const unasked = (): Promise<never> => Promise.reject(new Error(`${file} is not to be written`))
  return {
    name: file,
    contents: () => Promise.resolve([]),
    clashes: () => Promise.resolve([]),
    putKeys: unasked,
    putQuotas: unasked,
    putTallies: unasked,
    putAudit: unasked,
    finish: unasked,
    close: () => Promise.resolve(),
  }
}

function identityOf({ redis, file, prefix }: StoreSettings): string {
  if (redis) return JSON.stringify([redis, prefix])
  return existsSync(file) ? realpathSync(file) : resolve(file)
}
