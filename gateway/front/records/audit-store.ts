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

export type AuditEntry = Change & Readonly<{ atMs: number; by: string }>

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

/** The cursor before the first entry. */
export const auditStart = '0'

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

/** Whether a query asks for an entry, whatever its first moment. */
export function isAsked(entry: AuditEntry, { toMs, subject, what }: AuditQuery): boolean {
  return (
    entry.atMs <= (toMs ?? Infinity) &&
    entry.subject === (subject ?? entry.subject) &&
    entry.what.startsWith(what ?? '')
  )
}

/** The text of an entry in a store. */
export function auditText(entry: AuditEntry): string {
  return JSON.stringify(entry)
}

/** The entry of a stored text; empty if it is damaged, so that lists can leave it out. */
export function auditEntriesFrom(text: string | undefined): AuditEntry[] {
  const entry = entryFrom(text)
  return entry ? [entry as AuditEntry] : []
}

const entryFrom = readerOf(
  Type.Object({
    atMs: timeSchema,
    by: Type.String(),
    what: Type.String(),
    subject: Type.String(),
  }),
)
