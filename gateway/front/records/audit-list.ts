import { listStart, type Entry, type List, type Lists } from '../shelves/lists.ts'
import {
  auditEntriesFrom,
  rememberedEntries,
  takerFor,
  type AuditEntry,
  type AuditQuery,
  type AuditStore,
} from './audit-store.ts'

export const auditList: List = { name: 'audit', most: rememberedEntries, outlivesPowerCut: true }

/** Lines that came by a load. They are older than their place behind those of the store would say. */
export const loadedAuditList: List = { ...auditList, name: 'loaded' }

/** The beginning of a cursor in the loaded lines: whoever reads from the start reads them first. */
const inLoaded = 'loaded '

/** The cursor before the first entry. */
export const auditStart = inLoaded + listStart

/** Loaded lines that are added at a time. */
const loadedAtOnce = 200

/** The audit on a shelf of lists: the key of an entry is its subject. */
export function auditOn(lists: Lists): AuditStore {
  return {
    add: (entry) => lists.add(auditList, [stored(entry)]),

    async list(query) {
      const own = await newestOf(lists, auditList, query)
      const { atMs = 0 } = own.length === query.limit ? (own.at(-1) ?? {}) : {}
      const fromMs = Math.max(query.fromMs, atMs)
      const loaded = await newestOf(lists, loadedAuditList, { ...query, fromMs })
      if (loaded.length === 0) return own
      return [...own, ...loaded].sort((a, b) => b.atMs - a.atMs).slice(0, query.limit)
    },

    async since(cursor) {
      if (cursor?.startsWith(inLoaded)) {
        const loaded = await lists.since(loadedAuditList, cursor.slice(inLoaded.length))
        if (loaded.entries.length > 0) {
          return { entries: entriesIn(loaded.entries), cursor: inLoaded + loaded.cursor }
        }
      }
      const start = cursor?.startsWith(inLoaded) ? listStart : cursor
      const { entries, cursor: next } = await lists.since(auditList, start)
      return { entries: entriesIn(entries), cursor: next }
    },
  }
}

/** Puts the lines of another audit beside those of a store, which whoever follows the audit isn't given. */
export async function loadAudit(
  lists: Pick<Lists, 'add'>,
  given: readonly AuditEntry[],
): Promise<void> {
  const entries = [...given].sort((a, b) => a.atMs - b.atMs).slice(-rememberedEntries)
  for (let start = 0; start < entries.length; start += loadedAtOnce) {
    const some = entries.slice(start, start + loadedAtOnce)
    await lists.add(loadedAuditList, some.map(stored))
  }
}

async function newestOf(lists: Lists, list: List, query: AuditQuery): Promise<AuditEntry[]> {
  const takes = takerFor(query)
  const found: AuditEntry[] = []
  for await (const page of lists.back(list, query.subject)) {
    for (const { key, body } of page) {
      const [entry] = auditEntriesFrom(body, key)
      if (!entry) continue
      if (entry.atMs < query.fromMs) return found
      if (takes(entry) && found.push(entry) === query.limit) return found
    }
  }
  return found
}

function stored({ subject, ...rest }: AuditEntry): Entry {
  return { key: subject, body: JSON.stringify(rest) }
}

/** The entries of stored ones; damaged ones are left out. */
function entriesIn(entries: readonly Entry[]): AuditEntry[] {
  return entries.flatMap(({ key, body }) => auditEntriesFrom(body, key))
}
