import { readerOf, timeSchema, Type } from '../../../shared/schema.ts'

/** One change by an operator, or a ban that a key has earned. */
export type Change = Readonly<{
  /** The action, such as `keys.revoke`. */
  what: string
  /** Its object: the id of a key, or a file. */
  subject: string
  /** The changed values before and after; `null` for nothing. */
  before: unknown
  after: unknown
}>

/** One act on several keys, as each of its entries has it: with the keys up to its own. */
export type Act = Readonly<{
  id: string
  /** The account of all of its keys, if it named one. */
  account?: string | undefined
  keys: number
  /** The names of the first keys. */
  names: readonly string[]
}>

export type AuditEntry = Change & Readonly<{ atMs: number; by: string; act?: Act | undefined }>

type Named = Readonly<{ name: string }>

/** The first names of many. */
export function firstNames(all: Iterable<Named>): readonly string[] {
  const names: string[] = []
  for (const { name } of all) if (names.push(name) === 3) break
  return names
}

export type AuditQuery = Readonly<{
  fromMs: number
  /** The last moment; all later ones too by default. */
  toMs?: number | undefined
  limit: number
  subject?: string | undefined
  /** The beginning of `what`, such as `config.`. */
  what?: string | undefined
}>

/** The least number of entries that are kept. */
export const rememberedEntries = 100_000

/**
 * The audit: all changes in their order. Entries are only added; beyond `rememberedEntries` the oldest are deleted.
 * A store that can't be asked at the moment rejects with `StoreUnavailable`.
 */
export interface AuditStore {
  add(entry: AuditEntry): Promise<void>
  /** The newest first. */
  list(query: AuditQuery): Promise<readonly AuditEntry[]>
  /**
   * The entries since a cursor, the oldest first, and the cursor to go on from. Without a cursor: no
   * entries, and the current end.
   */
  since(cursor?: string): Promise<Readonly<{ entries: readonly AuditEntry[]; cursor: string }>>
}

/**
 * Makes the test of a list, which sees the newest entries first: of an act it takes the latest entry alone, which knows all
 * of its keys, unless the query is about one of them.
 */
export function takerFor(query: AuditQuery): (entry: AuditEntry) => boolean {
  const acts = new Set<string>()
  return (entry) => {
    if (!isAsked(entry, query)) return false
    if (!entry.act || query.subject !== undefined) return true
    const isNew = !acts.has(entry.act.id)
    acts.add(entry.act.id)
    return isNew
  }
}

/** Whether a query asks for an entry, whatever its first moment. */
export function isAsked(entry: AuditEntry, { toMs, subject, what }: AuditQuery): boolean {
  return (
    entry.atMs <= (toMs ?? Infinity) &&
    entry.subject === (subject ?? entry.subject) &&
    entry.what.startsWith(what ?? '')
  )
}

/** The text of an entry, the same for all who read it. */
export function auditText(entry: AuditEntry): string {
  return JSON.stringify(entry)
}

/** The entry of a text, whose subject may stand beside it; empty if it is damaged, so that lists can leave it out. */
export function auditEntriesFrom(text: string, subject?: string): AuditEntry[] {
  const entry = entryFrom(text)
  if (entry && subject !== undefined) entry.subject = subject
  return entry?.subject === undefined ? [] : [entry as AuditEntry]
}

const entryFrom = readerOf(
  Type.Object({
    atMs: timeSchema,
    by: Type.String(),
    what: Type.String(),
    subject: Type.Optional(Type.String()),
  }),
)
