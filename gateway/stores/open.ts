import type { Clock } from '../../shared/clock.ts'
import type { StoreSettings } from '../config/config.ts'
import { openGatewayFile } from './embedded/database.ts'
import { embeddedKeys } from './embedded/keys.ts'
import { EmbeddedQuotas } from './embedded/quota.ts'
import type { KeyStore } from './keys.ts'
import type { QuotaStore } from './quota.ts'
import { connect } from './redis/connect.ts'
import { redisKeys } from './redis/keys.ts'
import { redisQuotas } from './redis/quota.ts'

/** Everything that outlives a request, and a configuration. */
export type Stores = Readonly<{
  keys: KeyStore
  quota: QuotaStore
  close(): Promise<void>
}>

export type OpenOptions = Readonly<{
  /** For a command line: it waits for a store, and counts nothing. */
  visits?: boolean
  clock?: Clock
}>

/** How long a command line waits for a store. */
const visitTimeoutMs = 5_000

/** Opens the stores that a configuration names: in Redis, or in the gateway's own file. */
export function openStores(settings: StoreSettings, options: OpenOptions = {}): Stores {
  const { visits = false, clock = Date.now } = options
  const { keys, quota } = settings.redis ? inRedis() : inFile()
  return { keys, quota, close: async () => void (await Promise.all([keys.close(), quota.close()])) }

  function inRedis() {
    const { redis, prefix } = settings
    if (!redis) throw new Error('no Redis is named')
    const timeoutMs = visits ? visitTimeoutMs : settings.timeoutMs
    const connection = connect(redis, { timeoutMs, patient: visits })
    const options = { connection, prefix, timeoutMs }
    return { keys: redisKeys({ ...options, clock }), quota: redisQuotas(options) }
  }

  function inFile() {
    const { file } = settings
    const keys = embeddedKeys(openGatewayFile(file), clock)
    // A connection of its own, because counters need less of the disk than keys do.
    return { keys, quota: new EmbeddedQuotas(openGatewayFile(file), { clock, visits }) }
  }
}
