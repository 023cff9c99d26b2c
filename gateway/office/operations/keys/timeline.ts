import { counted, withCommas } from '../../../../shared/commas.ts'
import { printable } from '../../../../shared/printable.ts'
import { iso, timeText } from '../../../../shared/times.ts'
import { whoseText } from '../../explain/sentences.ts'
import { keptMinutes, type RefusedMinute } from '../../../front/counts/timeline-store.ts'
import type { Key } from '../../../front/keys/key.ts'
import { minuteMs } from '../../../../shared/windows.ts'
import type { AuditEntry } from '../../../front/records/audit-store.ts'
import { changeSentence } from '../change-sentence.ts'
import { changedMembers, membersOf } from '../../../front/records/changed-members.ts'
import type { Context } from '../context.ts'
import { changesOf } from '../key-changes.ts'
import { past } from '../kinds.ts'
import { operation, WrongInput } from '../operation.ts'
import { oneKey, valueOf } from '../parameters.ts'
import { aligned } from '../table.ts'
import { standingSentence } from './standing-sentence.ts'

/** The most lines of the audit that are looked through for changes. */
const mostChanges = 2_000

/** The most characters of a change on a terminal. */
const longestChange = 160

/** The most lines on a terminal; programs get all. */
const mostShown = 40

/** The sections beside plans that can refuse any key's requests. */
const ofEveryKey: ReadonlySet<string> = new Set(['bans', 'deprecations', 'routes'])

export const keyTimeline = operation({
  name: 'keys timeline',
  at: ['GET /admin/keys/{id}/timeline'],
  summary: 'Show when and why a key was refused, and what was changed meanwhile',
  details:
    'One line a minute and reason, for 7 days; bans, changes of the key, and changes of the configuration that touch it ' +
    '(its plan, bans, routes, deprecations, jwt) come from the audit. At most 2,000 lines of refusals, the latest.',
  parameters: {
    key: oneKey,
    from: valueOf(past, 'TIME', 'the first moment; 7 days back by default'),
    to: valueOf(past, 'TIME', 'the last moment; now by default'),
  },
  role: 'read',
  run: (context, { key, from, to }) => {
    const nowMs = context.clock()
    return timelineOf(context, key, from?.(nowMs), to?.(nowMs))
  },
  text: timelineText,
})

/** A line about refusals, or about a change as the audit has it. */
export type TimelineLine =
  | (Omit<RefusedMinute, 'minute' | 'limit' | 'used'> &
      Readonly<{
        at: string
        what: 'refused'
        operation?: string
        cap?: true
        limit: number | null
        used: number | null
      }>)
  | Readonly<{
      at: string
      what: string
      by: string
      sentence: string
      before: unknown
      after: unknown
    }>

export type KeyTimeline = Awaited<ReturnType<typeof timelineOf>>

/** The refusals and changes of a key in a time, the oldest first, and how it stands now. */
export async function timelineOf(
  { stores, desks, clock, flush }: Context,
  key: Key,
  from: number | undefined,
  to: number | undefined,
) {
  const nowMs = clock()
  // Ends in the future would leave less of the past.
  const toMs = Math.min(to ?? nowMs, nowMs)
  const fromMs = Math.max(from ?? 0, toMs - keptMinutes * minuteMs)
  if (fromMs > toMs) throw new WrongInput('the time begins after its end, or in the future')
  await flush()
  const { timeline, audit } = stores()
  const minuteOf = (ms: number): number => Math.floor(ms / minuteMs)
  const [refused, ofKey, ofConfig, details] = await Promise.all([
    timeline.list(key.id, minuteOf(fromMs), minuteOf(toMs)),
    changesOf(audit, key, { fromMs, toMs, limit: mostChanges }),
    audit.list({ fromMs, toMs, limit: mostChanges, what: 'config.' }),
    desks().quotas.describe(key),
  ])
  const touches = touchesOf(key, ofKey)
  const lines = [
    ...refused.map((line) => ({ atMs: line.minute * minuteMs, line: refusedLine(line) })),
    ...ofKey.map((entry) => ({ atMs: entry.atMs, line: changeLine(entry, key.name) })),
    ...ofConfig
      .flatMap((entry) => only(touches, entry))
      .map((entry) => ({ atMs: entry.atMs, line: changeLine(entry) })),
  ]
  return {
    id: key.id,
    name: key.name,
    plan: key.plan,
    account: key.account ?? null,
    ...(key.test && { test: true as const }),
    sentence: standingSentence(details, clock()),
    from: iso(fromMs),
    to: iso(toMs),
    lines: lines.sort((a, b) => a.atMs - b.atMs).map(({ line }) => line),
  }
}

function refusedLine({ minute, code, reason, count, limit, used }: RefusedMinute): TimelineLine {
  const isOfWindow = limit > 0
  const [why = reason, of] = reason.split('/')
  return {
    at: iso(minute * minuteMs),
    what: 'refused',
    code,
    reason: why,
    ...(of === 'cap' && { cap: true as const }),
    ...(of?.startsWith('operation:') && { operation: of.slice('operation:'.length) }),
    count,
    limit: isOfWindow ? limit : null,
    used: isOfWindow ? used : null,
  }
}

/** Tells whether a setting touches a key, by its place: one of a plan that it has, or had before or after a change. */
function touchesOf(key: Key, changes: readonly AuditEntry[]): (place: string) => boolean {
  const had = changes.flatMap(({ before, after }) => [before, after].map(membersOf))
  const plans = new Set([key.plan, ...had.map(({ plan }) => plan)])
  return (place) => {
    const [, section = '', name] = /^(\w+)(?:\.([^.]+))?/.exec(place) ?? []
    if (section === 'plans') return plans.has(name)
    return ofEveryKey.has(section) || (section === 'jwt' && key.issuer !== undefined)
  }
}

/** A change of the configuration with some of its settings alone; none if it has none of them. */
function only(touches: (place: string) => boolean, entry: AuditEntry): AuditEntry[] {
  const [before = {}, after = {}] = [entry.before, entry.after].map((side) =>
    Object.fromEntries(Object.entries(membersOf(side)).filter(([place]) => touches(place))),
  )
  return changedMembers(before, after).length > 0 ? [{ ...entry, before, after }] : []
}

function changeLine(entry: AuditEntry, name?: string): TimelineLine {
  const { atMs, what, by, before, after } = entry
  const sentence = `${by} ${changeSentence({ ...entry, name, act: undefined })}`
  return { at: iso(atMs), what, by, sentence, before, after }
}

/** How the key stands, its latest refusals in a sentence, and the lines. */
export function timelineText(timeline: KeyTimeline): string {
  const { id, plan, account, test, sentence, lines } = timeline
  const whose = whoseText({ plan, account, isTest: test })
  const latest = lines.filter((line) => 'count' in line).at(-1)
  const shown = lines.slice(-mostShown)
  const left = lines.length - shown.length
  return [
    printable(`${sentence} (${id}, ${whose})`),
    ...(latest
      ? [`Last refused in the minute ${timeText(Date.parse(latest.at))}: ${whyText(latest)}.`]
      : []),
    ...(lines.length === 0 ? ['Nothing was refused, and nothing was changed.'] : []),
    ...(left > 0 ? ['', `${withCommas(left)} earlier lines are left out; --json has them.`] : []),
    ...(lines.length > 0 ? ['', aligned([['WHEN', 'WHAT', 'WHY'], ...shown.map(rowOf)])] : []),
  ].join('\n')
}

function rowOf(line: TimelineLine): string[] {
  const when = timeText(Date.parse(line.at))
  if ('count' in line) return [when, line.code, whyText(line)]
  const { what, sentence } = line
  const isLong = sentence.length > longestChange
  return [when, what, isLong ? `${sentence.slice(0, longestChange)}…` : sentence]
}

/** The number and the reason of refusals, such as `140 refusals, minute: 60 of 60 used`. */
function whyText(line: Extract<TimelineLine, { count: number }>): string {
  const { count, reason, operation, cap, limit, used } = line
  const of = operation === undefined ? (cap ? ' of the cap' : '') : ` of ${operation}`
  const times = counted(count, 'refusal')
  const window = limit === null ? '' : `: ${withCommas(used ?? 0)} of ${withCommas(limit)} used`
  return `${times}, ${reason}${of}${window}`
}
