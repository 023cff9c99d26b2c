import type { StoreSettings } from '../config/config.ts'
import { openGatewayFile } from './embedded/database.ts'
import { embeddedKeys } from './embedded/keys.ts'
import type { KeyStore } from './keys.ts'
import { connect } from './redis/connect.ts'
import { redisKeys } from './redis/keys.ts'

/** Everything that outlives a request, and a configuration. */
export type Stores = Readonly<{
  keys: KeyStore
  close(): Promise<void>
}>

/** Opens the stores that a configuration names: in Redis, or in the gateway's own file. */
export function openStores(settings: StoreSettings, options: { patient?: boolean } = {}): Stores {
  const { redis, file, prefix, timeoutMs } = settings
  const { patient = false } = options
  const keys = redis
    ? redisKeys(connect(redis, { timeoutMs: patient ? 5_000 : timeoutMs, patient }), prefix)
    : embeddedKeys(openGatewayFile(file))
  return { keys, close: () => keys.close() }
}
