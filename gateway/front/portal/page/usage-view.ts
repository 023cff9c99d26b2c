import { count, date, plural } from '../../http/page/format.ts'
import { DayBars, refusedOf, sum } from '../../http/page/days.ts'
import { html, type Child } from '../../http/page/html.ts'
import { column, heading, numeric, table, type Column } from '../../http/page/table.ts'
import { countIn, windows } from '../../http/page/windows.ts'
import { line } from './prose.ts'
import type { DayUsage, OwnUsage } from '../usage.ts'

/** Ninety days of a key's own usage, and the deprecated operations that it calls. */
export function UsageView({ usage: { days, deprecated } }: Readonly<{ usage: OwnUsage }>) {
  return html`
    <h3>Your last ${span} days</h3>
    ${chart(days)} ${deprecatedView(deprecated)}
  `
}

/** Points that are shown only where there are any. */
const rareFigures = [
  { name: 'estimated', title: 'Estimated' },
  { name: 'beyond', title: 'Beyond what is included' },
] as const

function dayTable(days: readonly DayUsage[]): Child {
  const rare = rareFigures.filter(({ name }) => days.some((day) => day[name] !== undefined))
  const columns: readonly Column<DayUsage>[] = [
    heading('Day', ({ day }) => day),
    numeric('Admitted', ({ admitted }) => count(admitted)),
    numeric('Points', ({ points }) => count(points)),
    ...rare.map(({ name, title }) => numeric<DayUsage>(title, (day) => count(day[name] ?? 0))),
    numeric('Refused', (day) => count(refusedOf(day))),
    column('for', reasonsOf),
  ]
  return table('This key by day, newest first', columns, [...days].reverse())
}

/** Such as "12 rate_limit_exceeded (9 by the minute, 3 by the day)". */
function reasonsOf({ refused, windows: byWindow }: DayUsage): string {
  const codes = Object.entries(refused).map(([code, number]) => `${count(number)} ${code}`)
  const limited = windows
    .filter((window) => countIn(byWindow, window) > 0)
    .map((window) => `${count(countIn(byWindow, window))} by the ${window.name}`)
  return `${codes.join(', ')}${limited.length > 0 ? ` (${limited.join(', ')})` : ''}`
}

function deprecatedView(deprecated: OwnUsage['deprecated']): Child {
  if (deprecated.length === 0) return null
  return html`
    <div class="banner">
      <p><b>You still call operations that will be removed:</b></p>
      <ul>
        ${deprecated.map(
          ({ operation, calls, last, sunset, replacement }) => html`
            <li>
              <code>${operation}</code>${`: ${plural(calls, 'time')}, last on ${last}. `}
              ${sunset !== null && `It is removed on ${date(sunset)}. `}
              ${replacement !== null && line(`Use \`${replacement}\` instead.`)}
            </li>
          `,
        )}
      </ul>
    </div>
  `
}

/** The days that are drawn. */
const span = 90

/** A bar for each day, and the same in a sentence. */
function chart(days: readonly DayUsage[]): Child {
  const [all, refused] = [sum(days.map((each) => each.admitted)), sum(days.map(refusedOf))]
  if (all + refused === 0) return html`<p>This key hasn’t been used yet.</p>`
  const top = Math.max(...days.map((each) => each.admitted + refusedOf(each)))
  const summary = `${plural(all, 'request')} admitted, ${count(refused)} refused; at most ${count(top)} a day`
  return html`
    <p>${summary}.</p>
    <${DayBars}
      title="Usage by day"
      summary=${summary}
      parts=${[
        { name: 'answered', label: 'admitted' },
        { name: 'day', label: 'refused' },
      ]}
      days=${days.map((each) => ({ day: each.day, counts: [each.admitted, refusedOf(each)] }))}
      span=${span}
      numbers=${dayTable(days)}
    />
  `
}
