import type { Key } from '../../front/keys/key.ts'
import type { AuditEntry, AuditQuery, AuditStore } from '../../front/records/audit-store.ts'
import { membersOf } from './changes-text.ts'

/** The most imports that are looked through for that of a key. */
const mostImports = 1_000

/** The changes of a key in the audit, the newest first. The import that brought it is one line for all of its keys. */
export async function changesOf(
  audit: AuditStore,
  { id, createdAtMs }: Key,
  query: Omit<AuditQuery, 'subject'>,
): Promise<readonly AuditEntry[]> {
  const changes = await audit.list({ ...query, subject: id })
  const isMadeAlone = changes.some(({ what }) => what === 'keys.create')
  if (isMadeAlone || createdAtMs < query.fromMs || changes.length >= query.limit) return changes
  const ofImports = { toMs: query.toMs, what: 'keys.import', subject: 'keys', limit: mostImports }
  const imports = await audit.list({ ...ofImports, fromMs: createdAtMs })
  const createdAt = new Date(createdAtMs).toISOString()
  const own = imports.filter(({ after }) => membersOf(after)['createdAt'] === createdAt)
  return [...changes, ...own.map((entry) => ({ ...entry, subject: id }))]
}
