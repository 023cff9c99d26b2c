import type { StoreSettings } from '../config/config.ts'
import type { Stores } from './stores.ts'

/** Gives what opens the stores of a configuration for a command. Only the code of their technology is loaded. */
export async function openerForCommand(settings: StoreSettings): Promise<() => Stores> {
  const options = { forCommandLine: true }
  if (settings.redis) {
    const { openInRedis } = await import('./redis/open.ts')
    return () => openInRedis(settings, options)
  }
  const { openInFile } = await import('./embedded/open.ts')
  return () => openInFile(settings, options)
}
