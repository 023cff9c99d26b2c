import { count } from '../../../../front/http/page/format.ts'
import { gatewayNowMs } from '../../../../front/http/page/gateway-time.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { numeric, table } from '../page-parts.ts'
import { colourOf, left, legendItem, roundSteps, stepLines, useWidth } from './scale.ts'

const height = 140
const below = 20
const above = 8

/** Counts by day, such as `2026-11-23`, in the order of the parts. */
export type Day = Readonly<{ day: string; counts: readonly number[] }>

/** One colour of the bars: its class in `style.css`, and its words. */
export type DayPart = Readonly<{ name: string; label: string }>

type Props = Readonly<{
  title: string
  /** The chart in a sentence. */
  summary: string
  parts: readonly DayPart[]
  days: readonly Day[]
  /** How many days are drawn, the last of them today. */
  span: number
}>

/** A bar for each day up to today, in UTC, and the same as a table. */
export function DayBars({ title, summary, parts, days, span }: Props) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const byDay = new Map(days.map((each) => [each.day, each.counts]))
  const drawn = lastDays(span).map((day) => ({ day, counts: byDay.get(day) ?? [] }))
  return html`
    <figure class="chart">
      <div ref=${ref} class="drawing">
        ${
          width > 0 &&
          html`<svg width=${width} height=${height} role="img" aria-label=${summary}>
            ${bars(drawn, parts, width)}
          </svg>`
        }
      </div>
      <figcaption>
        <ul class="legend">
          ${parts.map(({ name, label }, i) =>
            legendItem(name, label, count(sum(drawn.map(({ counts }) => counts[i] ?? 0)))),
          )}
        </ul>
      </figcaption>
      <details>
        <summary>Show as table</summary>
        ${table(
          `${title}, newest day first`,
          [
            { name: 'Day', cell: ({ day }: Day) => day },
            ...parts.map(({ label }, i) =>
              numeric(label, ({ counts }: Day) => count(counts[i] ?? 0)),
            ),
          ],
          [...days].sort((a, b) => (a.day < b.day ? 1 : -1)),
          ({ day }) => day,
        )}
      </details>
    </figure>
  `
}

function bars(days: readonly Day[], parts: readonly DayPart[], width: number): Child {
  const steps = roundSteps(Math.max(0, ...days.map(({ counts }) => sum(counts))))
  const top = steps.at(-1) ?? 1
  const y = (value: number): number => above + (height - above - below) * (1 - value / top)
  const wide = (width - left) / days.length
  const first = days[0]?.day ?? ''
  return html`
    ${stepLines(steps, width, y)}
    ${days.map(({ day, counts }, column) =>
      parts.map(({ name }, i) => {
        const from = sum(counts.slice(0, i))
        const to = from + (counts[i] ?? 0)
        return (
          to > from &&
          html`<rect
            class="part"
            style=${colourOf(name)}
            x=${left + column * wide + 0.5}
            y=${y(to)}
            width=${Math.max(1, wide - 1)}
            height=${Math.max(1, y(from) - y(to))}
          >
            <title>
              ${day}: ${parts.map(({ label }, k) => `${label} ${count(counts[k] ?? 0)}`).join(', ')}
            </title>
          </rect>`
        )
      }),
    )}
    <text class="axis" x=${left} y=${height - 4}>${first}</text>
    <text class="axis" x=${width} y=${height - 4} text-anchor="end">today</text>
  `
}

/** The last days in UTC, today at the end. */
function lastDays(span: number): readonly string[] {
  const dayMs = 86_400_000
  return Array.from({ length: span }, (_each, i) =>
    new Date(gatewayNowMs() - (span - 1 - i) * dayMs).toISOString().slice(0, 10),
  )
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}
