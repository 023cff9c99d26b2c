import type { Clock } from '../../../shared/clock.ts'
import type { AuditStore } from '../../front/records/audit-store.ts'
import { noticeOfChange, type Facts } from './audit-notices.ts'
import type { Outbox } from './outbox.ts'
import type { Turn } from '../../front/records/notice-store.ts'

/** The name in the store of the cursor up to which the audit was read. */
const subject = 'audit'

/** Older changes are nobody's news: no gateway has sent notices for so long, or they were copied from another store. */
const oldMs = 86_400_000

export type FollowOptions = Readonly<{
  audit: Pick<AuditStore, 'since'>
  outbox: Outbox
  facts: Facts
  clock: Clock
  /** This process. */
  id: string
}>

/**
 * Makes notices of the lines of the audit that came since the last time, whoever wrote them: a gateway, or a command while
 * no gateway ran. The cursor is saved after the notices, and a line makes the same notice each time, so none is lost and
 * none is told twice.
 */
export async function followAudit(
  { audit, outbox, facts, clock, id }: FollowOptions,
  turns: readonly Turn[],
): Promise<void> {
  const before = turns.find((each) => each.subject === subject)?.state
  let cursor = before
  for (;;) {
    const { entries, cursor: next } = await audit.since(cursor)
    for (const entry of entries) {
      if (entry.atMs < clock() - oldMs) continue
      const notice = await noticeOfChange(entry, facts)
      if (notice && outbox.wants(notice.type)) await outbox.addNow(notice)
    }
    if (next !== cursor) await outbox.turnNow({ subject, state: next, by: id }, undefined)
    if (entries.length === 0) return
    cursor = next
  }
}
