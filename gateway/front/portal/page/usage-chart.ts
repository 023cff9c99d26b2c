import { count, plural } from '../../http/page/format.ts'
import { html, type Child } from '../../http/page/html.ts'
import type { DayUsage } from '../account-usage.ts'

/** The days that are drawn. */
export const span = 90
const height = 100
const dayMs = 86_400_000

/** A bar for each day, and the same in a sentence. */
export function chart(days: readonly DayUsage[]): Child {
  const byDay = new Map(days.map((each) => [each.day, each]))
  const drawn = Array.from({ length: span }, (_, i) => {
    const day = new Date(Date.now() - (span - 1 - i) * dayMs).toISOString().slice(0, 10)
    return byDay.get(day) ?? { day, admitted: 0, points: 0, refused: {} }
  })
  const top = Math.max(1, ...drawn.map((each) => each.admitted + refusedOf(each)))
  const [all, refused] = [sum(days, ({ admitted }) => admitted), sum(days, refusedOf)]
  const summary = `${plural(all, 'request')} let in, ${count(refused)} refused; at most ${count(top)} a day`
  const part = (name: string, from: number, value: number, i: number): Child =>
    value > 0 &&
    html`<rect
      class=${name}
      x=${i * 10 + 1}
      width="8"
      y=${height - ((from + value) / top) * height}
      height=${Math.max(1, (value / top) * height)}
    />`
  return html`
    <p>${all + refused === 0 ? 'This key was not used yet.' : `${summary}.`}</p>
    ${
      all + refused > 0 &&
      html`<svg
          class="usage"
          viewBox=${`0 0 ${span * 10} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label=${summary}
        >
          ${drawn.map((each, i) => [
            part('admitted', 0, each.admitted, i),
            part('refused', each.admitted, refusedOf(each), i),
          ])}
        </svg>
        <p class="legend quiet">
          <span class="admitted">■</span>${' let in '}<span class="refused">■</span>${' refused'}
        </p>`
    }
  `
}

/** All refused requests of a day. */
export function refusedOf({ refused }: Pick<DayUsage, 'refused'>): number {
  return Object.values(refused).reduce((all, each) => all + each, 0)
}

export function sum(days: readonly DayUsage[], figureOf: (day: DayUsage) => number): number {
  return days.reduce((all, each) => all + figureOf(each), 0)
}
