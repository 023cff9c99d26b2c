import { inBatches } from '../../../shared/in-order.ts'
import type { Key } from './key.ts'
import { lastUse, type KeyInUse, type LastUseStore } from './last-use-store.ts'
import { endOf } from './line.ts'
import type { KeyPage } from './store.ts'
import { oldTokenOf } from './view.ts'

/** Keys that are looked up at a time. */
const batchSize = 500

/** The keys to list by their uses. An absent member filters nothing. */
export type UseFilter = Readonly<{
  /** Not used for this long. */
  unused?: number | undefined
  /** No use is known. */
  neverUsed?: boolean | undefined
  /** The old token still works, and was used within this time. */
  oldTokenUsed?: number | undefined
}>

/** A page of keys in use, and the text behind the last one if there are more. */
export type PageInUse = Readonly<{ keys: readonly KeyInUse[]; end?: string | undefined }>

export function isByUse({ unused, neverUsed = false, oldTokenUsed }: UseFilter): boolean {
  return neverUsed || unused !== undefined || oldTokenUsed !== undefined
}

/**
 * Makes the check of a filter. A key of which no use is known counts as unused since it was made; if it is older than the
 * knowledge of uses, which begins at `sinceMs`, since then.
 */
export function wantedByUse(
  { unused, neverUsed = false, oldTokenUsed }: UseFilter,
  { nowMs, sinceMs = Infinity }: Readonly<{ nowMs: number; sinceMs: number | undefined }>,
): (inUse: KeyInUse) => boolean {
  return (inUse) => {
    const { key, uses } = inUse
    const usedMs = lastUse(uses)
    if (neverUsed && usedMs !== undefined) return false
    const idleSinceMs = usedMs ?? Math.max(key.createdAtMs, sinceMs)
    if (unused !== undefined && idleSinceMs > nowMs - unused) return false
    if (oldTokenUsed === undefined) return true
    const { lastUsedMs = -Infinity } = oldTokenOf(inUse, nowMs) ?? {}
    return lastUsedMs >= nowMs - oldTokenUsed
  }
}

type Reader = Pick<LastUseStore, 'of'>

/** Looks the uses of keys up, some at a time. */
export async function* inUse(
  keys: AsyncIterable<Key>,
  store: Reader,
): AsyncGenerator<KeyInUse, void> {
  for await (const [batch] of inBatches(keys, batchSize)) yield* await usesOf(batch, store)
}

async function usesOf(keys: readonly Key[], store: Reader): Promise<KeyInUse[]> {
  const uses = keys.length > 0 ? await store.of(keys.map(({ id }) => id)) : []
  return keys.map((key, i) => ({ key, uses: uses[i] }))
}

export type PageInUseQuery = Readonly<{
  /** Reads a page of keys, whatever their uses. */
  read: (limit: number, after: string | undefined) => Promise<KeyPage>
  limit: number
  after: string | undefined
  store: Reader
  /** The check of uses; without it, all keys are wanted. */
  isWanted?: ((inUse: KeyInUse) => boolean) | undefined
}>

/** Reads a page of the keys whose uses are wanted. */
export async function pageInUse(query: PageInUseQuery): Promise<PageInUse> {
  const { read, limit, store, isWanted } = query
  if (!isWanted) {
    const { keys, end } = await read(limit, query.after)
    return { keys: await usesOf(keys, store), end }
  }
  const wanted: KeyInUse[] = []
  let after = query.after
  // One more than the page has room for tells whether there is a next page.
  do {
    const { keys, end } = await read(Math.max(limit, batchSize), after)
    wanted.push(...(await usesOf(keys, store)).filter(isWanted))
    after = end
  } while (after !== undefined && wanted.length <= limit)
  const page = wanted.slice(0, limit)
  const last = page.at(-1)
  return last && wanted.length > limit ? { keys: page, end: endOf(last.key) } : { keys: page }
}
