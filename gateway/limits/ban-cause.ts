import type { AuditStore } from '../records/audit-store.ts'

/** How many lines about a key are looked through for its latest ban. */
const mostLines = 100

/** Who has banned a key, since when, and after how many strikes if it has earned it. */
export type BanCause = Readonly<{ by: string; since: string; strikes?: number }>

/** What the audit tells of the latest ban of a key; nothing if it does not reach back so far. */
export async function causeOf(
  audit: Pick<AuditStore, 'list'> | undefined,
  id: string,
): Promise<BanCause | null> {
  const lines = (await audit?.list({ fromMs: 0, limit: mostLines, subject: id })) ?? []
  const line = lines.find(({ what }) => what === 'bans.earn' || what === 'bans.set')
  if (!line) return null
  const { after, by, atMs } = line
  const strikes: unknown =
    typeof after === 'object' && after !== null ? Reflect.get(after, 'strikes') : undefined
  return {
    by,
    since: new Date(atMs).toISOString(),
    ...(typeof strikes === 'number' ? { strikes } : {}),
  }
}
