import { useState } from 'preact/hooks'
import { DayBars } from '../charts/days.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { table, time } from '../page-parts.ts'
import type { Usage } from '../../../../front/counts/usage.ts'
import type { TimelineLine } from '../../../operations/keys/timeline.ts'
import { differences } from './changes.ts'

/** The lines of the timeline that are shown at first. */
const firstLines = 20

/** The refusals of a key, and the changes of it. */
export function Lines({ lines }: { lines: readonly TimelineLine[] }) {
  const [isWhole, setWhole] = useState(false)
  const newest = [...lines].reverse()
  const shown = isWhole ? newest : newest.slice(0, firstLines)
  if (lines.length === 0)
    return html`<p class="quiet">In 7 days nothing was refused, and nothing was changed.</p>`
  return html`
    ${table('What happened in 7 days, the newest first', lineColumns, shown)}
    ${lines.length > shown.length && html`<p><button type="button" onClick=${() => setWhole(true)}>Show all ${count(lines.length)} lines</button></p>`}
  `
}

const lineColumns = [
  { name: 'When', cell: ({ at }: TimelineLine) => time(at) },
  { name: 'What', cell: (line: TimelineLine) => ('count' in line ? line.code : line.what) },
  {
    name: 'How often',
    isNumber: true,
    cell: (line: TimelineLine) => ('count' in line ? count(line.count) : ''),
  },
  {
    name: 'Why',
    cell: (line: TimelineLine) => {
      if (!('count' in line)) return html`by ${line.by} ${differences(line.before, line.after)}`
      const { reason, limit, used } = line
      return limit === null ? reason : `${reason}: ${count(used ?? 0)} of ${count(limit)} used`
    },
  },
]

/** The parts of a day of usage, with their classes in `style.css`. */
const usageParts = [
  { name: 'answered', label: 'admitted' },
  { name: 'minute', label: 'refused by the minute' },
  { name: 'day', label: 'by the day' },
  { name: 'ban', label: 'by a ban or another reason' },
]

/** The last 90 days of a key. */
export function usageOf(days: readonly Usage[]): Child {
  if (days.length === 0) return html`<p class="quiet">It was not used in 90 days.</p>`
  const counts = days.map(({ day = '', admitted, refused, windows: { minute, day: byDay } }) => {
    const all = Object.values(refused).reduce((sum, each) => sum + each, 0)
    return { day, counts: [admitted, minute, byDay, all - minute - byDay] }
  })
  const sum = (part: number): number =>
    counts.reduce((all, each) => all + (each.counts[part] ?? 0), 0)
  const refused = sum(1) + sum(2) + sum(3)
  return html`<${DayBars}
    title="Usage by day, in UTC"
    summary=${`In 90 days ${count(sum(0))} requests were admitted on ${count(days.length)} days, and ${count(refused)} refused.`}
    parts=${usageParts}
    days=${counts}
    span=${90}
  />`
}
