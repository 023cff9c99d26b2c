import { html, type Child } from '../../../../front/http/page/html.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'
import type { LiveRange, LiveRow } from '../../../live/snapshot.ts'
import { numeric, table } from '../page-parts.ts'
import type { Part } from './outcomes.ts'
import { legendItem } from './scale.ts'

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
export function legendOf(
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

/** The chart as a table. */
export function numbersOf({ range, rows }: Figures, look: Look): Child {
  const { title, parts, isOfCounts, text } = look
  const { line, unit } = shapes[range]
  type Line = readonly [number, readonly number[]]
  return html`
    <details>
      <summary>The same as a table</summary>
      ${table(
        `${title}: the ${isOfCounts ? 'sums' : 'highest'} of each ${unit}, the newest first`,
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
export function valuesBy(
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
export function joinedBy({ isOfCounts }: Look, values: readonly number[]): number {
  return isOfCounts ? values.reduce((sum, each) => sum + each, 0) : Math.max(...values)
}

/** The time of the day of a second, in UTC. */
export function clockAt(at: number): string {
  return new Date(at * 1_000).toISOString().slice(11, 19)
}
