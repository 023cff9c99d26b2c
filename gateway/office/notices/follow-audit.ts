import type { Clock } from '../../../shared/clock.ts'
import { dayMs } from '../../../shared/windows.ts'
import { section } from '../../front/http/page/sections.ts'
import type { Key } from '../../front/keys/key.ts'
import { auditText, type AuditEntry, type AuditStore } from '../../front/records/audit-store.ts'
import { changedMembers } from '../../front/records/changed-members.ts'
import { noticedKey, noticeOf, type NewNotice } from '../../front/records/notice.ts'
import type { Turn } from '../../front/records/notice-store.ts'
import type { NoticeType } from '../../front/records/notice-types.ts'
import type { Outbox } from './outbox.ts'

/** The name in the store of the cursor up to which the audit was read. */
const subject = 'audit'

/** Older changes are nobody's news: no gateway has sent notices for so long, or they were copied from another store. */
const oldMs = dayMs

type FollowOptions = Readonly<{
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

/** The facts about a line of the audit that it doesn't have itself. */
type Facts = Readonly<{
  keyOf: (id: string) => Promise<Key | undefined>
  /** The number of steps of an upstream's swap. */
  stepsOf: (upstream: string) => number | undefined
}>

type View = Readonly<Record<string, unknown>>

const typeByChange: Readonly<Record<string, NoticeType>> = {
  'keys.create': 'key.created',
  'keys.import': 'key.created',
  'keys.change': 'key.changed',
  'keys.disable': 'key.changed',
  'keys.enable': 'key.changed',
  'keys.rotate': 'key.rotated',
  'keys.revoke': 'key.revoked',
  'bans.earn': 'key.banned',
  'bans.set': 'key.banned',
  'bans.lift': 'key.ban_lifted',
  'swap.back': 'upstream.swap_back',
  'swap.finish': 'upstream.swapped',
  'swap.step': 'upstream.swapped',
  'gateways.differ': 'gateways.differ',
}

/** The notice of a line of the audit; `undefined` for a line that nobody is told of. */
async function noticeOfChange(entry: AuditEntry, facts: Facts): Promise<NewNotice | undefined> {
  const type = typeByChange[entry.what]
  if (type === undefined) return undefined
  const data = await dataOf(entry, facts)
  return data && noticeOf({ type, parts: [auditText(entry)], atMs: entry.atMs, data })
}

async function dataOf(entry: AuditEntry, facts: Facts): Promise<object | undefined> {
  const { what, subject, by } = entry
  const [before, after] = [section(entry.before), section(entry.after)]
  if (what === 'gateways.differ') return { inForce: after['inForce'] }
  if (what === 'keys.import') return { key: null, imported: after['imported'], by }
  if (what.startsWith('swap.')) {
    const isLast = what !== 'swap.step' || after['step'] === facts.stepsOf(subject)
    return isLast ? { upstream: subject, why: after['why'] ?? null, by } : undefined
  }
  const key = noticedKey((await facts.keyOf(subject)) ?? { id: subject })
  if (what.startsWith('bans.')) return { key, until: after['until'] ?? null, by }
  const plan = after['plan']
  const changed = what === 'keys.create' ? {} : { before, after }
  return { key, plan, ...onlyDifferences(changed), by }
}

/** The members in which two views differ. */
function onlyDifferences({ before = {}, after = {} }: { before?: View; after?: View }): object {
  const names = changedMembers(before, after)
  if (names.length === 0) return {}
  const those = (view: View) => Object.fromEntries(names.map((name) => [name, view[name] ?? null]))
  return { before: those(before), after: those(after) }
}
