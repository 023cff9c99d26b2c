import type { Finding } from '../../config/finding.ts'
import type { Context } from '../context.ts'

/** Warnings about the Redis of a configuration. There are none while it can't be asked. */
export async function storeWarnings({
  config,
  stores,
}: Pick<Context, 'config' | 'stores'>): Promise<readonly Finding[]> {
  if (!config.store.redis) return []
  try {
    const opened = stores()
    // Of a store that can't be used, the warnings say why.
    await opened.ready().catch(() => undefined)
    const about = { file: null, line: null, column: null, place: 'store.redis', isWarning: true }
    return opened.warnings.map((message) => ({ ...about, message }))
  } catch {
    return []
  }
}
