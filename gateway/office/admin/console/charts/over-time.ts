import { useState } from 'preact/hooks'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { left, roundSteps, stepLines, useWidth, legendItem } from './scale.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'
import type { LiveRange, LiveRow } from '../../../live/snapshot.ts'
import { numeric, table } from '../page-parts.ts'
import type { Part } from './outcomes.ts'

/** Room for the times below, and above the highest line. */
const below = 22
const above = 8

/** The narrowest column in pixels that can be read and pointed at. */
const narrowest = 4

/** Figures over time, in columns. Whoever points at one, or goes to it by arrow keys, reads its numbers below. */
export function OverTime({ figures, look }: { figures: Figures; look: Look }) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const [pointed, setPointed] = useState<number>()
  const { title, summary, height } = look
  const columns = columnsOf(figures, look, Math.max(1, width - left))
  // A finger's tap is such a movement too, and its numbers stay until the next one.
  const point = ({ offsetX }: MouseEvent): void =>
    setPointed(Math.floor(((offsetX - left) / (width - left)) * columns.length))
  const shown = columns[pointed ?? -1]
  const move = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
    if (by === 0) return
    event.preventDefault()
    const last = columns.length - 1
    setPointed(Math.max(0, Math.min(last, (pointed ?? columns.length) + by)))
  }
  return html`
    <figure class="chart">
      <h2>${title}</h2>
      <div ref=${ref} class="drawing">
        ${
          width > 0 &&
          html`<svg
            width=${width}
            height=${height}
            role="slider"
            tabindex="0"
            aria-label=${summary}
            aria-valuemin="0"
            aria-valuemax=${columns.length - 1}
            aria-valuenow=${pointed ?? columns.length - 1}
            aria-valuetext=${shown ? textOf(shown, look) : 'Arrow keys read its columns'}
            onKeyDown=${move}
            onBlur=${() => setPointed(undefined)}
            onMouseMove=${point}
            onMouseLeave=${() => setPointed(undefined)}
          >
            ${drawing(columns, look, shapes[figures.range].tick, width, pointed)}
          </svg>`
        }
      </div>
      <figcaption>${legendOf(look, figures, shown)}</figcaption>
      ${numbersOf(figures, look)}
    </figure>
  `
}

/** The columns of a range, each as wide as can be pointed at. The last one grows, as its row does. */
function columnsOf({ range, rows, endAt }: Figures, look: Look, width: number): Column[] {
  const { span, step } = shapes[range]
  const seconds = step * Math.ceil(((span / step) * narrowest) / width)
  const valuesAt = valuesBy(seconds, rows, look)
  const count = Math.floor(span / seconds)
  const first = (Math.ceil(endAt / seconds) - count) * seconds
  return Array.from({ length: count }, (_each, i) => {
    const at = first + i * seconds
    const over = look.isOfCounts ? Math.min(seconds, Math.max(1, endAt - at)) : 1
    return { at, values: look.parts.map((_part, k) => (valuesAt.get(at)?.[k] ?? 0) / over) }
  })
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
  height: number
  draw: (
    columns: readonly Column[],
    x: (column: number) => number,
    y: (value: number) => number,
  ) => Child
}>

/** The meaning of each colour, with the numbers of the column that is pointed at, else of the whole range. */
function legendOf(
  { parts, isOfCounts, text }: Look,
  { range, sums }: Figures,
  column: Column | undefined,
): Child {
  return html`
    <p class="legend-head">
      ${column ? `${clockAt(column.at)} UTC${isOfCounts ? ', a second' : ''}` : `In ${shapes[range].whole}`}
    </p>
    <ul class="legend">
      ${parts.map(({ name, label, countOf }, i) =>
        legendItem(name, label, text(column ? (column.values[i] ?? 0) : countOf(sums))),
      )}
    </ul>
  `
}

/** A column in words. */
function textOf({ at, values }: Column, { parts, text }: Look): string {
  return [clockAt(at), ...parts.map(({ label }, i) => `${label} ${text(values[i] ?? 0)}`)].join(
    ', ',
  )
}

/** The chart as a table. */
function numbersOf({ range, rows }: Figures, look: Look): Child {
  const { title, parts, isOfCounts, text } = look
  const { line, unit } = shapes[range]
  type Line = readonly [number, readonly number[]]
  return html`
    <details>
      <summary>Show as table</summary>
      ${table(
        `${title}: the ${isOfCounts ? 'sums' : 'highest'} of each ${unit}, newest first`,
        [
          {
            name: 'From',
            cell: ([at]: Line) => html`<time>${clockAt(at).slice(0, 5)}</time>`,
          },
          ...parts.map(({ label }, i) =>
            numeric(label, ([, values]: Line) => text(values[i] ?? 0)),
          ),
        ],
        [...valuesBy(line, rows, look)].sort(([a], [b]) => b - a),
        ([at]) => at,
      )}
    </details>
  `
}

/** The values of rows, by the beginnings of some seconds that share them. */
function valuesBy(
  seconds: number,
  rows: readonly LiveRow[],
  look: Look,
): ReadonlyMap<number, readonly number[]> {
  const valuesAt = new Map<number, readonly number[]>()
  for (const row of rows) {
    const at = row.at - (row.at % seconds)
    const before = valuesAt.get(at)
    const values = look.parts.map(({ countOf }, i) =>
      joinedBy(look, [before?.[i] ?? 0, countOf(row)]),
    )
    valuesAt.set(at, values)
  }
  return valuesAt
}

/** Values of several rows or parts as one. */
function joinedBy({ isOfCounts }: Look, values: readonly number[]): number {
  return isOfCounts ? values.reduce((sum, each) => sum + each, 0) : Math.max(...values)
}

/** The time of the day of a second, in UTC. */
function clockAt(at: number): string {
  return new Date(at * 1_000).toISOString().slice(11, 19)
}
