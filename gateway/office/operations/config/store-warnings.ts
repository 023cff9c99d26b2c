import type { Context } from '../context.ts'

/** Warnings about the Redis of a configuration. There are none while it can't be asked. */
export async function storeWarnings({
  config,
  stores,
}: Pick<Context, 'config' | 'stores'>): Promise<readonly string[]> {
  if (!config.store.redis) return []
  try {
    const opened = stores()
    await opened.ready()
    return opened.warnings
  } catch {
    return []
  }
}
