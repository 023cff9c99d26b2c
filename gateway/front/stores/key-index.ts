import { lineFilterOf, wantedBy } from '../keys/filter.ts'
import { intactKeyFrom, type Key } from '../keys/key.ts'
import { endOf, idIn, lineOf, lineOfDamaged, type LineFilter } from '../keys/line.ts'
import type { KeyPage, KeyStore, PageQuery } from '../keys/store.ts'

/** A line that a walk has found, with the record and the version of its key as they are now. */
export type FoundLine = Readonly<{ line: string; record: string; version: number }>

/** Some lines that fit, and the line after which the walk goes on; without it, it is at its end. */
export type Walked = Readonly<{ found: readonly FoundLine[]; end?: string | undefined }>

/**
 * The index of a key store: one line for each key, in order.
 *
 * Changes of keys change their lines in the same step. Keys that are copied into a store have none at first, so the store
 * keeps the version of keys up to which all lines are made, and `catchUp` makes the others. A line that isn't its key's any
 * more is found out when it is read, by comparison with the record.
 */
export interface KeyIndex {
  /** Makes the missing lines. */
  catchUp(): Promise<void>
  /** Reads some lines after a text. Gives at most `most` of those that fit, without keys of unfinished imports. */
  walk(after: string, filter: LineFilter, most: number): Promise<Walked>
  /** Removes lines, each if its key still has the version that was found. */
  remove(lines: readonly FoundLine[]): Promise<void>
}

/** A store of keys with its index, which can be brought up to date before anybody asks for a page. */
export type IndexedKeys = KeyStore & Readonly<{ index: KeyIndex }>

/** Reads a page of keys by an index, which heals on the way. */
export async function pageBy(index: KeyIndex, query: PageQuery): Promise<KeyPage> {
  const { filter, limit, nowMs } = query
  const isWanted = wantedBy(filter, nowMs)
  const lines = lineFilterOf(filter, nowMs)
  const keys = new Map<string, Key>()
  await index.catchUp()
  let after = query.after
  // One more than the page has room for tells whether there is a next page.
  do {
    const { found, end } = await index.walk(after ?? '', lines, limit + 1 - keys.size)
    const stale: FoundLine[] = []
    for (const each of found) {
      const key = intactKeyFrom(each.record)
      if (each.line !== lineFor(idIn(each.line), key)) stale.push(each)
      else if (key && isWanted(key)) keys.set(key.id, key)
    }
    if (stale.length > 0) await index.remove(stale)
    after = end
  } while (after !== undefined && keys.size <= limit)
  const page = [...keys.values()].slice(0, limit)
  const last = page.at(-1)
  return last && keys.size > limit ? { keys: page, end: endOf(last) } : { keys: page }
}

/** The line for a stored record. */
export function lineOfRecord(id: string, record: string): string {
  return lineFor(id, intactKeyFrom(record))
}

function lineFor(id: string, key: Key | undefined): string {
  return key ? lineOf(key) : lineOfDamaged(id)
}

/** A task that several callers may begin: each call waits for the one that runs, and then does its own. */
export function oneAtATime(task: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve()
  return () => (running = running.then(task, task))
}
