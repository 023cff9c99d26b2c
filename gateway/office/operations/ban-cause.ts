import { membersOf } from '../../front/records/changed-members.ts'
import type { AuditStore } from '../../front/records/audit-store.ts'

/** The number of audit lines about bans of a key that are searched for its latest ban. */
const mostLines = 100

/** The author and the time of a ban, and its note if it has one; the number of strikes if the key earned it. */
export type BanCause = Readonly<{ by: string; since: string; strikes?: number; note?: string }>

/** The cause of a key's latest ban by the audit; `null` if the audit doesn't reach back that far. */
export async function causeOf(
  audit: Pick<AuditStore, 'list'>,
  id: string,
): Promise<BanCause | null> {
  const query = { fromMs: 0, limit: mostLines, subject: id, what: 'bans.' }
  const lines = await audit.list(query)
  const line = lines.find(({ what }) => what === 'bans.earn' || what === 'bans.set')
  if (!line) return null
  const { by, atMs } = line
  const { strikes, note } = membersOf(line.after)
  return {
    by,
    since: new Date(atMs).toISOString(),
    ...(typeof strikes === 'number' ? { strikes } : {}),
    ...(typeof note === 'string' ? { note } : {}),
  }
}
