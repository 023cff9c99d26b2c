import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  Columns,
  evenEdges,
  type Plot,
  above,
  below,
  left,
  roundSteps,
  stepLines,
} from '../../../../front/http/page/columns.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'
import type { LiveRange, LiveRow } from '../../../live/snapshot.ts'
import { column, numeric, table } from '../page-parts.ts'
import type { Part } from './outcomes.ts'

/** The narrowest column in pixels that can be read and pointed at. */
const narrowest = 4

/** Figures over time, in columns. */
export function OverTime({ figures, look }: { figures: Figures; look: Look }) {
  const { title, summary, parts, height, isOfCounts, text } = look
  const { range, sums, sinceAt, endAt } = figures
  const { span, whole } = shapes[range]
  const isCut = sinceAt > endAt - span
  const plot = (width: number): Plot => {
    const columns = columnsOf(figures, look, width - left)
    const edges = evenEdges(columns.length, width)
    return {
      edges,
      drawing: drawing(columns, edges, look, figures),
      read: (at) => {
        const column = columns[at ?? -1]
        if (column) {
          const head = `${clockAt(column.at)} UTC${isOfCounts ? ', a second' : ''}`
          return { head, texts: column.values.map(text) }
        }
        const before = isCut ? `; incomplete before ${clockAt(sinceAt).slice(0, 5)}` : ''
        return {
          head: `In ${whole}${before}`,
          texts: parts.map(({ countOf }) => text(countOf(sums))),
        }
      },
    }
  }
  const numbers = numbersOf(figures, look)
  return html`<${Columns} ...${{ title, summary, height, parts, plot, numbers }} />`
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
  edges: readonly number[],
  look: Look,
  { range, sinceAt }: Figures,
): Child {
  const { height, isOfCounts, draw } = look
  const { tick } = shapes[range]
  const highest = Math.max(...columns.map(({ values }) => joinedBy(look, values)))
  const steps = roundSteps(highest, isOfCounts ? 1 : 0.01)
  const tall = height - above - below
  const y = (value: number): number => above + tall * (1 - value / (steps.at(-1) ?? 1))
  const x = (column: number): number => edges[column] ?? 0
  const width = x(columns.length)
  const seconds = (columns[1]?.at ?? 0) - (columns[0]?.at ?? 0)
  const known = x(columns.filter(({ at }) => at + seconds <= sinceAt).length)
  return html`
    <rect class="unknown" x=${left} y=${above} width=${known - left} height=${tall} />
    ${stepLines(steps, width, y)} ${draw(columns, edges, y)}
    ${columns.map(
      ({ at }, i) =>
        at % tick < seconds &&
        x(i) > left + 18 &&
        x(i) < width - 18 &&
        html`<text class="axis" x=${x(i)} y=${height - 6} text-anchor="middle">
          ${clockAt(at - (at % tick)).slice(0, 5)}
        </text>`,
    )}
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
  /** The second from which on no gateway’s figures are missing. */
  sinceAt: number
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
    edges: readonly number[],
    y: (value: number) => number,
  ) => Child
}>

/** The chart as a table. */
function numbersOf({ range, rows }: Figures, look: Look): Child {
  const { title, parts, isOfCounts, text } = look
  const { line, unit } = shapes[range]
  type Line = readonly [number, readonly number[]]
  return table<Line>(
    `${title}: the ${isOfCounts ? 'sums' : 'highest'} of each ${unit}, newest first`,
    [
      column('From', ([at]) => html`<time>${clockAt(at).slice(0, 5)}</time>`),
      ...parts.map(({ label }, i) => numeric<Line>(label, ([, values]) => text(values[i] ?? 0))),
    ],
    [...valuesBy(line, rows, look)].sort(([a], [b]) => b - a),
    ([at]) => at,
  )
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
