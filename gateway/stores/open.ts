import type { StoreSettings } from '../config/config.ts'
import { openInFile } from './embedded/open.ts'
import { openInRedis } from './redis/open.ts'
import type { OpenOptions, Stores } from './stores.ts'

/** Opens the stores that a configuration names: in Redis, or in the gateway's own file. */
export function openStores(settings: StoreSettings, options: OpenOptions = {}): Stores {
  return settings.redis ? openInRedis(settings, options) : openInFile(settings, options)
}
