import { count, date, plural } from '../../http/page/format.ts'
import { html, type Child } from '../../http/page/html.ts'
import { column, heading, numeric, table, type Column } from '../../http/page/table.ts'
import { countIn, windows } from '../../http/page/windows.ts'
import { line } from './prose.ts'
import type { DayUsage, OwnUsage } from '../usage.ts'
import { gatewayNowMs } from '../../http/page/time.ts'

/** Ninety days of a key's own usage, and the deprecated operations that it calls. */
export function UsageView({ usage: { days, deprecated } }: Readonly<{ usage: OwnUsage }>) {
  return html`
    <h3>Your last ${span} days</h3>
    ${chart(days)} ${dayTable(days)} ${deprecatedView(deprecated)}
  `
}

/** Points that are shown only where there are any. */
const rareFigures = [
  { name: 'estimated', title: 'Estimated' },
  { name: 'beyond', title: 'Beyond what is included' },
] as const

function dayTable(days: readonly DayUsage[]): Child {
  if (days.length === 0) return null
  const caption = 'This key by day, newest first'
  const rare = rareFigures.filter(({ name }) => days.some((day) => day[name] !== undefined))
  const columns: readonly Column<DayUsage>[] = [
    heading('Day', ({ day }) => day),
    numeric('Admitted', ({ admitted }) => count(admitted)),
    numeric('Points', ({ points }) => count(points)),
    ...rare.map(({ name, title }) => numeric<DayUsage>(title, (day) => count(day[name] ?? 0))),
    numeric('Refused', (day) => count(refusedOf(day))),
    column('for', reasonsOf),
  ]
  return html`
    <details>
      <summary>${caption}</summary>
      ${table(caption, columns, [...days].reverse(), undefined, 'bare')}
    </details>
  `
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
const height = 100
const dayMs = 86_400_000

/** A bar for each day between its axes, and the same in a sentence. */
function chart(days: readonly DayUsage[]): Child {
  const byDay = new Map(days.map((each) => [each.day, each]))
  const drawn = Array.from({ length: span }, (_, i) => {
    const day = new Date(gatewayNowMs() - (span - 1 - i) * dayMs).toISOString().slice(0, 10)
    return { refused: {}, admitted: 0, ...byDay.get(day), day }
  })
  const top = Math.max(1, ...drawn.map((each) => each.admitted + refusedOf(each)))
  const [all, refused] = [sum(days, ({ admitted }) => admitted), sum(days, refusedOf)]
  if (all + refused === 0) return html`<p>This key hasn’t been used yet.</p>`
  const summary = `${plural(all, 'request')} admitted, ${count(refused)} refused; at most ${count(top)} a day`
  return html`
    <p>${summary}.</p>
    <div class="usage">
      <p class="axis up" aria-hidden="true"><span>${count(top)}</span><span>0</span></p>
      <svg
        viewBox=${`0 0 ${span * 10} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label=${summary}
      >
        ${drawn.map((each, i) => barsOf(each, i, height / top))}
      </svg>
      <p class="axis along" aria-hidden="true">
        <span>${drawn[0]?.day}</span><span>${drawn[span / 2]?.day}</span><span>today</span>
      </p>
    </div>
    <p class="legend quiet">
      <span class="admitted">■</span>${' admitted '}<span class="refused">■</span>${' refused'}
    </p>
  `
}

type DrawnDay = Pick<DayUsage, 'day' | 'admitted' | 'refused'>

/** The bars of a day, the refused on those that were let in, with both as their tooltip. */
function barsOf(day: DrawnDay, place: number, scale: number): Child {
  const parts = [
    { name: 'admitted', from: 0, value: day.admitted },
    { name: 'refused', from: day.admitted, value: refusedOf(day) },
  ]
  return parts
    .filter(({ value }) => value > 0)
    .map(
      ({ name, from, value }) => html`
        <rect
          class=${name}
          x=${place * 10 + 1}
          width="8"
          y=${height - (from + value) * scale}
          height=${Math.max(1, value * scale)}
        >
          <title>
            ${day.day}: ${count(day.admitted)} admitted, ${count(refusedOf(day))} refused
          </title>
        </rect>
      `,
    )
}

/** All refused requests of a day. */
function refusedOf({ refused }: Pick<DayUsage, 'refused'>): number {
  return Object.values(refused).reduce((all, each) => all + each, 0)
}

function sum(days: readonly DayUsage[], figureOf: (day: DayUsage) => number): number {
  return days.reduce((all, each) => all + figureOf(each), 0)
}
