import type { StoreSettings } from '../config/config.ts'
import { redisName } from './redis/name.ts'
import type { OpenOptions, Stores } from './stores.ts'

/** Opens the stores that a configuration names: in Redis, or in the gateway's own file. */
export async function openStores(
  settings: StoreSettings,
  options: OpenOptions = {},
): Promise<Stores> {
  return (await openerOf(settings))(options)
}

/** Gives what opens the stores of a configuration, later and at once. Only the code of their technology is loaded. */
export async function openerOf(settings: StoreSettings): Promise<(options: OpenOptions) => Stores> {
  if (settings.redis) {
    const { openInRedis } = await import('./redis/open.ts')
    return (options) => openInRedis(settings, options)
  }
  const { openInFile } = await import('./embedded/open.ts')
  return (options) => openInFile(settings, options)
}

/** The name of a store in messages; never with a password. */
export function storeName({ redis, file }: StoreSettings): string {
  return redis ? redisName(redis) : file
}
