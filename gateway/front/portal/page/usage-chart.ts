import { count, plural } from '../../http/page/format.ts'
import { gatewayNowMs } from '../../http/page/gateway-time.ts'
import { html, type Child } from '../../http/page/html.ts'
import type { DayUsage } from '../account-usage.ts'

/** The days that are drawn. */
export const span = 90
const height = 100
const dayMs = 86_400_000

/** A bar for each day between its axes, and the same in a sentence. */
export function chart(days: readonly DayUsage[]): Child {
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
export function refusedOf({ refused }: Pick<DayUsage, 'refused'>): number {
  return Object.values(refused).reduce((all, each) => all + each, 0)
}

export function sum(days: readonly DayUsage[], figureOf: (day: DayUsage) => number): number {
  return days.reduce((all, each) => all + figureOf(each), 0)
}
