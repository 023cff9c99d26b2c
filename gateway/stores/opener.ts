import type { StoreSettings } from '../config/config.ts'
import type { OpenOptions, Stores } from './stores.ts'

/** Gives what opens the stores of a configuration. Only the code of their technology is loaded. */
export async function openerOf(
  settings: StoreSettings,
): Promise<(options?: OpenOptions) => Stores> {
  if (settings.redis) {
    const { openInRedis } = await import('./redis/open.ts')
    return (options = {}) => openInRedis(settings, options)
  }
  const { openInFile } = await import('./embedded/open.ts')
  return (options = {}) => openInFile(settings, options)
}
