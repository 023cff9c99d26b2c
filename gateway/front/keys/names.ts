import type { KeyStore, Named } from './store.ts'

/** Reads the names of keys for reports; the result gives '' for an id without a key. */
export async function keyNames(
  store: KeyStore,
  ids: Iterable<string>,
): Promise<(id: string) => string> {
  const keys = await namedKeys(store, ids)
  return (id) => keys.get(id)?.name ?? ''
}

/** Reads the names of keys, and whether they are test keys, by id. */
export async function namedKeys(
  store: KeyStore,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, Named>> {
  const byId = new Map<string, Named>()
  for await (const keys of store.named([...new Set(ids)])) {
    for (const key of keys) byId.set(key.id, key)
  }
  return byId
}
