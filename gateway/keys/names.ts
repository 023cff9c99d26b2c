import type { KeyStore } from './store.ts'

/** Reads the names of keys for reports; the result gives '' for an id without a key. */
export async function keyNames(
  store: KeyStore,
  ids: Iterable<string>,
): Promise<(id: string) => string> {
  const names = new Map<string, string>()
  for await (const keys of store.named([...new Set(ids)])) {
    for (const { id, name } of keys) names.set(id, name)
  }
  return (id) => names.get(id) ?? ''
}
