import type { Key } from '../../keys/key.ts'
import { firstNames } from '../../records/audit-store.ts'
import { kinds } from './kinds.ts'
import type { ReadStore } from './store.ts'

/** A store that is loaded may have lines of audit; last uses are those of keys. */
const kindsThatCount = kinds.filter(({ name }) => name !== 'audit' && name !== 'uses')

/** Throws a sentence that says whose a store is, unless it has no keys, quotas, counts and closed days. */
export async function requireRoom(
  store: ReadStore,
  mayServe: boolean,
  nowMs: number,
): Promise<void> {
  const gateways = await store.gateways()
  if (!mayServe && gateways.length > 0) {
    throw new Error(`a gateway counts in ${store.name}: stop it first. Nothing was written`)
  }
  const contents: string[] = []
  const reading = { nowMs, damaged: 0 }
  for (const kind of kindsThatCount) {
    for await (const rows of kind.rows(store, reading)) {
      if (rows.length === 0) continue
      const keys = rows.flatMap((row) => (row.shelf === 'keys' ? [row.key as Key] : []))
      contents.push(keys.length > 0 ? `keys (${firstNames(keys).join(', ')} …)` : kind.name)
      break
    }
  }
  if (contents.length === 0 && reading.damaged === 0) return
  const by = gateways.length > 0 ? `, and ${gateways.join(', ')} uses it` : ''
  throw new Error(
    `${store.name} isn't empty: it has ${contents.join(', ')}${by}. Nothing was written. Name an empty store, or remove what a ` +
      'load that was broken off has left; tollgate keys import adds keys to a store in use',
  )
}
