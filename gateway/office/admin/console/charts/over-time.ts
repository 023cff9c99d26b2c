import { useState } from 'preact/hooks'
import { html, type Child } from '../../../../front/http/page/html.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'
import type { LiveRange, LiveRow } from '../../../live/picture.ts'
import type { Part } from './outcomes.ts'
import { clockAt, joinedBy, legendOf, numbersOf } from './over-time-numbers.ts'
import { left, roundSteps, stepLines, useWidth } from './scale.ts'

/** Room for the times below, and above the highest line. */
const below = 22
const above = 8

/** The narrowest column in pixels that can be read and pointed at. */
const narrowest = 4

/** The ranges: seconds of all, of a row, between the times below, and of a line of the table. */
export const shapes = {
  '15m': { span: 900, step: 5, tick: 180, line: 60, unit: 'minute', whole: '15 minutes' },
  day: { span: 86_400, step: 60, tick: 14_400, line: 3_600, unit: 'hour', whole: '24 hours' },
} as const

/** The figures of a range up to a second. */
export type Figures = Readonly<{
  range: LiveRange
  rows: readonly LiveRow[]
  sums: SumsView
  endAt: number
}>

/** The values of one or more rows, in the order of the parts. */
export type Column = Readonly<{ at: number; values: readonly number[] }>

/** How values become a chart. */
export type Look = Readonly<{
  title: string
  /** The chart in a sentence. */
  summary: string
  parts: readonly Part[]
  /** Whether its values are counts, which add up and are drawn as rates a second; of others the highest is shown. */
  isOfCounts: boolean
  text: (value: number) => string
  /** What a line of the table tells of its minute or hour. */
  tells: string
  height: number
  draw: (
    columns: readonly Column[],
    x: (column: number) => number,
    y: (value: number) => number,
  ) => Child
}>

/** Figures over time, in columns. Whoever points at one reads its numbers below. */
export function OverTime({ figures, look }: { figures: Figures; look: Look }) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const [pointed, setPointed] = useState<number>()
  const { title, summary, height } = look
  const columns = columnsOf(figures, look, Math.max(1, width - left))
  const point = ({ offsetX }: PointerEvent): void =>
    setPointed(Math.floor(((offsetX - left) / (width - left)) * columns.length))
  return html`
    <figure class="chart">
      <h2>${title}</h2>
      <div ref=${ref} class="drawing" style=${{ minHeight: height }}>
        ${
          width > 0 &&
          html`<svg
            width=${width}
            height=${height}
            role="img"
            aria-label=${summary}
            onPointerDown=${point}
            onPointerMove=${point}
            onPointerLeave=${() => setPointed(undefined)}
          >
            ${drawing(columns, look, shapes[figures.range].tick, width, pointed)}
          </svg>`
        }
      </div>
      <figcaption>${legendOf(look, figures, columns[pointed ?? -1])}</figcaption>
      ${numbersOf(figures, look)}
    </figure>
  `
}

/** The columns of a range, each as wide as can be pointed at. The last one grows, as its row does. */
function columnsOf({ range, rows, endAt }: Figures, look: Look, width: number): Column[] {
  const { span, step } = shapes[range]
  const seconds = step * Math.ceil(((span / step) * narrowest) / width)
  const count = Math.floor(span / seconds)
  const first = (Math.ceil(endAt / seconds) - count) * seconds
  const columns = Array.from({ length: count }, (_each, i) => ({
    at: first + i * seconds,
    values: look.parts.map(() => 0),
  }))
  for (const row of rows) {
    const column = columns[Math.floor((row.at - first) / seconds)]
    if (!column) continue
    const over = look.isOfCounts ? Math.min(seconds, Math.max(1, endAt - column.at)) : 1
    look.parts.forEach(({ countOf }, i) => {
      column.values[i] = joinedBy(look, [column.values[i] ?? 0, countOf(row) / over])
    })
  }
  return columns
}

function drawing(
  columns: readonly Column[],
  look: Look,
  tick: number,
  width: number,
  pointed: number | undefined,
): Child {
  const { height, isOfCounts, draw } = look
  const highest = Math.max(...columns.map(({ values }) => joinedBy(look, values)))
  const steps = roundSteps(highest, isOfCounts ? 1 : 0.01)
  const tall = height - above - below
  const y = (value: number): number => above + tall * (1 - value / (steps.at(-1) ?? 1))
  const wide = (width - left) / columns.length
  const x = (column: number): number => left + column * wide
  const seconds = (columns[1]?.at ?? 0) - (columns[0]?.at ?? 0)
  return html`
    ${stepLines(steps, width, y)} ${draw(columns, x, y)}
    ${columns.map(
      ({ at }, i) =>
        at % tick < seconds &&
        x(i) > left + 18 &&
        x(i) < width - 18 &&
        html`<text class="axis" x=${x(i)} y=${height - 6} text-anchor="middle">
          ${clockAt(at - (at % tick)).slice(0, 5)}
        </text>`,
    )}
    ${
      columns[pointed ?? -1] &&
      html`<rect class="pointed" x=${x(pointed ?? 0)} y=${above} width=${wide} height=${tall} />`
    }
  `
}
