import type { KeyStore } from './store.ts'

/** Gives the names of keys by their ids, for reports; a key that isn't there has none. */
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
