import { section } from '../../front/http/page/sections.ts'
import type { Key } from '../../front/keys/key.ts'
import type { AuditEntry } from '../../front/records/audit-store.ts'
import { auditText } from '../../front/records/audit-store.ts'
import { noticedKey, noticeOf, type NewNotice } from '../../front/records/notice.ts'
import type { NoticeType } from '../../front/records/notice-types.ts'

/** The facts about a line of the audit that it doesn't have itself. */
export type Facts = Readonly<{
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
export async function noticeOfChange(
  entry: AuditEntry,
  facts: Facts,
): Promise<NewNotice | undefined> {
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
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  if (names.length === 0) return {}
  const those = (view: View) => Object.fromEntries(names.map((name) => [name, view[name] ?? null]))
  return { before: those(before), after: those(after) }
}
