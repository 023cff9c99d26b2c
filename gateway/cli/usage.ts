import { dayMs } from '../limits/step.ts'
import { usage, type Usage } from '../records/usage.ts'
import { lineCount, usualLines } from '../operations/values.ts'
import { auditView } from '../operations/views.ts'
import { daysOption, keyOf, lastDays, text, valueOf, type Command } from './command.ts'
import { aligned, timeText } from './table.ts'

/** The commands with which operators look at what was done: by callers, and by operators. */
export const usageCommands: readonly Command[] = [
  {
    name: 'usage',
    args: ['[KEY]'],
    summary: 'Tell how much keys were used: each in all, or one by days',
    details:
      'Counted by day (UTC), remembered for 90 days, and written down every four seconds. Requests\n' +
      'without a valid key are nobody’s and not in here; the metrics have them.',
    options: { days: daysOption },
    run: async (context, input) => {
      const days = lastDays(input, context.clock())
      const key = input.args.length > 0 ? (await keyOf(context, input)).id : undefined
      const found = await usage(context.stores(), { ...days, key })
      return { text: usageTable(found), json: found }
    },
  },
  {
    name: 'audit',
    summary: 'Tell who has changed which key, ban, quota or configuration',
    details: 'A ban that a key has earned is in it as well: bans.earn, by "gateway".',
    options: {
      key: { value: 'KEY', help: 'only changes and bans of this key' },
      days: daysOption,
      limit: {
        value: 'N',
        help: 'how many lines, the newest first',
        kind: lineCount,
        unlessTold: String(usualLines),
      },
    },
    run: async ({ stores, desks, clock }, input) => {
      const { fromDay } = lastDays(input, clock())
      const key = text(input, 'key')
      const query = {
        fromMs: fromDay * dayMs,
        limit: valueOf(input, 'limit', lineCount) ?? usualLines,
        subject: key === undefined ? undefined : await desks().keys.subjectOf(key),
      }
      const entries = await stores().audit.list(query)
      const rows = entries.map(({ atMs, by, what, subject, before, after }) => [
        ...[timeText(atMs), by, what, subject, changesText(before, after)],
      ])
      return {
        text:
          rows.length > 0
            ? aligned([['WHEN', 'BY', 'WHAT', 'OF', 'CHANGED'], ...rows])
            : 'Nothing was changed.',
        json: entries.map(auditView),
      }
    },
  },
]

function usageTable(found: readonly Usage[]): string {
  if (found.length === 0) return 'No key was used.'
  const sum = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((all, count) => all + count, 0)
  const rows = found.map(({ day, key, name, admitted, refused, answers }) => [
    ...(day === undefined ? [key, name] : [day]),
    ...[admitted, sum(refused)].map(String),
    ...['2xx', '3xx', '4xx', '5xx'].map((each) => String(answers[each] ?? 0)),
    Object.entries(refused)
      .map(([code, count]) => `${count} ${code}`)
      .join(', '),
  ])
  const first = found[0]?.day === undefined ? ['ID', 'NAME'] : ['DAY']
  const heads = [...first, 'ADMITTED', 'REFUSED', '2XX', '3XX', '4XX', '5XX', 'REFUSED FOR']
  return aligned([heads, ...rows])
}

/** The members that are others than before, in a line. */
function changesText(before: unknown, after: unknown): string {
  const [old, now] = [membersOf(before), membersOf(after)]
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])]
  return names
    .filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
    .map((name) => `${name}: ${shown(old[name])} → ${shown(now[name])}`)
    .join(', ')
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function shown(value: unknown): string {
  return value === undefined || value === null ? '-' : JSON.stringify(value)
}
