import { existsSync } from 'node:fs'
import type { Finding } from '../../config/finding.ts'
import type { Preview } from '../../config/preview.ts'
import type { Context } from '../context.ts'

/**
 * Warnings of extensions for keys and accounts that the store doesn't have. There are none while the store can't be
 * asked, or isn't there yet: a check of a file works without it.
 */
export async function unknownExtensions(
  { config, stores, desks }: Context,
  { extended, warningsOf }: Preview,
): Promise<readonly Finding[]> {
  const { redis, file } = config.store
  if (extended.length === 0 || (!redis && !existsSync(file))) return []
  try {
    const remarks: [Preview['extended'][number]['path'], string][] = []
    for (const { path, key, account } of extended) {
      if (key !== undefined && !(await stores().keys.get(key))) {
        remarks.push([path, `is the id of no key: ${key}`])
      }
      if (account !== undefined && (await desks().keys.countOf(account)) === 0) {
        remarks.push([path, `is the account of no key: ${account}`])
      }
    }
    return warningsOf(remarks)
  } catch {
    return []
  }
}
