import type { Key } from './key.ts'

/** A use of a token: its key, the mark of its hash, and the time of the request in milliseconds since 1970. */
export type TokenUse = Readonly<{ key: string; mark: string; atMs: number }>

/** The last uses of a key's tokens, by the marks of their hashes. */
export type KeyUses = ReadonlyMap<string, number>

/**
 * The times at which keys were used last, one value a key. They are kept as long as keys are, and hold no address.
 *
 * No request waits for it: gateways note uses from time to time. A store that can't be asked at the moment rejects
 * with `StoreUnavailable`; uses that are noted twice count once.
 */
export interface LastUseStore {
  /**
   * Notes uses, each at most once a token; a later time than the stored one takes its place. `nowMs` is the time of the
   * gateway that saw them, so that a store with a clock of its own can put their times into its own.
   */
  note(uses: readonly TokenUse[], nowMs: number): Promise<void>

  /** The last uses of some keys, in the order of their ids; `undefined` for a key of which no use is known. */
  of(ids: readonly string[]): Promise<readonly (KeyUses | undefined)[]>

  /** The time since which uses are noted; of earlier ones nothing is known. `undefined` before the first note. */
  since(): Promise<number | undefined>
}

/** The most tokens of a key of which the last use is kept; two work at a time. */
export const mostTokens = 4

/** The name and the mark under which a store keeps the time since which uses are noted. */
export const beginning = { key: '', mark: 'since' } as const

const markLength = 8

/** The beginning of a token's hash, which tells the tokens of one key apart. */
export function markOf(hash: string): string {
  return hash.slice(0, markLength)
}

/** The last use of any of a key's tokens. */
export function lastUse(uses: KeyUses | undefined): number | undefined {
  return uses && uses.size > 0 ? Math.max(...uses.values()) : undefined
}

/** Merges uses: of each token the later one, of tokens the latest. */
export function mergedUses(...all: readonly (KeyUses | undefined)[]): KeyUses {
  const merged = new Map<string, number>()
  for (const uses of all) {
    for (const [mark, atMs] of uses ?? []) merged.set(mark, Math.max(atMs, merged.get(mark) ?? 0))
  }
  return new Map([...merged].sort(([, a], [, b]) => b - a).slice(0, mostTokens))
}

/** The value of a key in a store: mark and time of each token, with spaces between. */
export function usesText(uses: KeyUses): string {
  return [...uses].flat().join(' ')
}

/** The uses of a stored value; `undefined` if it has none. */
export function usesFrom(text: string | null | undefined): KeyUses | undefined {
  const uses = new Map<string, number>()
  for (const [, mark = '', atMs] of (text ?? '').matchAll(/(\S+) (\d+)/g)) {
    uses.set(mark, Number(atMs))
  }
  return uses.size > 0 ? uses : undefined
}

/** A key with the last uses of its tokens; `undefined` if none is known. */
export type KeyInUse = Readonly<{ key: Key; uses: KeyUses | undefined }>
