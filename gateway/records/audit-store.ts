/** Something that somebody has changed. */
export type Change = Readonly<{
  /** What was done, such as `keys.revoke`. */
  what: string
  /** To what: the id of a key, or a file. */
  subject: string
  /** What is another now, as it was and as it is; `null` where there was, or is, nothing. */
  before: unknown
  after: unknown
}>

export type AuditEntry = Change & Readonly<{ atMs: number; by: string }>

export type AuditQuery = Readonly<{
  fromMs: number
  limit: number
  subject?: string | undefined
}>

/** How many lines are remembered at least. */
export const rememberedEntries = 100_000

/**
 * Who has changed what, in the order of changes. Lines are only ever added; the oldest are forgotten
 * when there are very many. A store that can't be reached rejects.
 */
export interface AuditStore {
  add(entry: AuditEntry): Promise<void>
  /** The newest first. */
  list(query: AuditQuery): Promise<readonly AuditEntry[]>
  /**
   * What was added since a place in the order, the oldest first, and the place to go on from; without
   * a place nothing, and the place that is the end just now.
   */
  since(place?: string): Promise<Readonly<{ entries: readonly AuditEntry[]; place: string }>>
}

/** A line as stores keep it. */
export function auditText(entry: AuditEntry): string {
  return JSON.stringify(entry)
}

/** The line of a store's text; nothing if it is damaged, so that one such doesn't hide the others. */
export function auditEntriesFrom(text: string | undefined): AuditEntry[] {
  try {
    const entry = JSON.parse(text ?? '') as AuditEntry
    const isEntry =
      Number.isSafeInteger(entry.atMs) &&
      [entry.by, entry.what, entry.subject].every((member) => typeof member === 'string')
    return isEntry ? [entry] : []
  } catch {
    return []
  }
}
