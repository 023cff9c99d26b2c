import { dayMs } from '../limits/step.ts'
import { usage, type Usage } from '../records/usage.ts'
import { auditView } from '../views.ts'
import { daysOption, lastDays, text, UsageError, type Command, type Input } from './command.ts'
import { aligned, timeText } from './table.ts'

/** How many lines of the audit are shown unless told otherwise. */
const usualLines = 100

/** The commands with which operators look at what was done: by callers, and by operators. */
export const usageCommands: readonly Command[] = [
  {
    name: 'usage',
    args: ['[KEY_ID]'],
    summary: 'Tell how much keys were used: each in all, or one by days',
    details:
      'Counted by day (UTC), remembered for 90 days, and written down every four seconds. Requests\n' +
      'without a valid key are nobody’s and not in here; the metrics have them.',
    options: { days: daysOption },
    run: async ({ stores, desks, clock }, input) => {
      const [key] = input.args
      if (key !== undefined) await desks().keys.show(key)
      const found = await usage(stores(), { ...lastDays(input, clock()), key })
      return { text: usageTable(found), json: found }
    },
  },
  {
    name: 'audit',
    summary: 'Tell who has changed which key, ban, quota or configuration',
    options: {
      key: { value: 'KEY_ID', help: 'only changes of this key' },
      days: daysOption,
      limit: { value: 'N', help: `how many lines, the newest first; ${usualLines} unless told` },
    },
    run: async ({ stores, clock }, input) => {
      const { fromDay } = lastDays(input, clock())
      const query = {
        fromMs: fromDay * dayMs,
        limit: limitFrom(input),
        subject: text(input, 'key'),
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

function limitFrom(input: Input): number {
  const given = text(input, 'limit') ?? String(usualLines)
  if (/^[1-9]\d{0,4}$/.test(given)) return Number(given)
  throw new UsageError(`--limit must be a whole number from 1 to 99999, got "${given}"`)
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
