import type { StoredKey } from '../keys/key.ts'
import type { KeyClash } from './copy.ts'

/** The clash of a key with what the goal of a copy has: another version of it, or a token that is another key's. */
export function clashOf(
  { key, version }: StoredKey,
  stored: number | undefined,
  holderOf: (hash: string) => string | null | undefined,
): KeyClash | undefined {
  if (stored !== undefined && stored !== version) {
    const why = 'the goal has another version of it: one of the two stores has changed it'
    return { key: key.id, why }
  }
  const holder = key.secrets.map(({ hash }) => holderOf(hash)).find((id) => id && id !== key.id)
  return holder ? { key: key.id, why: `its token belongs to the key ${holder}` } : undefined
}
