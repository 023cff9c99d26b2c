import { DayBars, refusedOf, sum } from '../../../../front/http/page/days.ts'
import { count, plural } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { countIn, sumOfWindows, windowsWhere } from '../../../../front/http/page/windows.ts'
import { refusedBy } from '../charts/outcomes.ts'
import { column, FirstRows, numeric, reasonText, time, type Column } from '../page-parts.ts'
import type { Usage } from '../../../../front/counts/usage.ts'
import type { TimelineLine } from '../../../operations/keys/timeline.ts'
import { rawChange } from './audit.ts'

/** The refusals of a key, and the changes of it. */
export function linesOf(lines: readonly TimelineLine[]): Child {
  if (lines.length === 0)
    return html`<p class="quiet">Nothing was refused or changed in the last 7 days.</p>`
  return html`<${FirstRows}
    caption="The last 7 days, newest first"
    columns=${lineColumns}
    rows=${[...lines].reverse()}
  />`
}

const lineColumns: readonly Column<TimelineLine>[] = [
  column('When', ({ at }) => time(at)),
  column('Why', (line) => {
    if (!('count' in line)) return html`<div class="why">${line.sentence}</div>`
    const { limit, used } = line
    const why = reasonText(line)
    return limit === null ? why : `${why}: ${count(used ?? 0)} of ${count(limit)} used`
  }),
  column('What', (line) => ('count' in line ? line.code : rawChange(line))),
  numeric('Count', (line) => ('count' in line ? count(line.count) : '')),
]

/** The last 90 days of a key. */
export function usageOf(days: readonly Usage[]): Child {
  if (days.length === 0) return html`<p class="quiet">Not used in the last 90 days.</p>`
  const shown = windowsWhere((window) => days.some(({ windows }) => countIn(windows, window) > 0))
  const counts = days.map((each) => {
    const byWindow = shown.map((window) => countIn(each.windows, window))
    const others = refusedOf(each) - sumOfWindows(each.windows)
    return { day: each.day ?? '', counts: [each.admitted, ...byWindow, others] }
  })
  const [admitted, refused] = [sum(days.map((each) => each.admitted)), sum(days.map(refusedOf))]
  return html`<${DayBars}
    title="Usage by day, in UTC"
    summary=${`In the last 90 days ${count(admitted)} requests were admitted on ${count(days.length)} days, and ${count(refused)} refused.${costsText(days)}`}
    parts=${[
      { name: 'answered', label: 'admitted' },
      ...refusedBy(shown),
      { name: 'ban', label: 'by a ban or another reason' },
    ]}
    days=${counts}
    span=${90}
  />`
}

/** What the requests have cost, where some answers have told it. */
function costsText(days: readonly Usage[]): string {
  const estimated = sum(days.map((each) => each.estimated ?? 0))
  const beyond = sum(days.map((each) => each.beyond ?? 0))
  if (estimated + beyond === 0) return ''
  const points = sum(days.map((each) => each.points))
  const more = beyond > 0 ? `, ${count(beyond)} of them beyond what is included` : ''
  const estimates =
    estimated > 0 ? `; those whose answers tell it were estimated at ${count(estimated)}` : ''
  return ` They have cost ${plural(points, 'point')}${more}${estimates}.`
}
