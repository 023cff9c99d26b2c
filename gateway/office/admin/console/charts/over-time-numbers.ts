import { html, type Child } from '../../../../front/http/page/html.ts'
import { table } from '../page-parts.ts'
import { shapes, type Column, type Figures, type Look } from './over-time.ts'
import { legendItem } from './scale.ts'

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
  const { title, parts, text, tells } = look
  const { line, unit } = shapes[range]
  const lines = new Map<number, number[]>()
  for (const row of rows) {
    const at = Math.floor(row.at / line) * line
    const values = lines.get(at) ?? parts.map(() => 0)
    lines.set(at, values)
    parts.forEach(({ countOf }, i) => (values[i] = joinedBy(look, [values[i] ?? 0, countOf(row)])))
  }
  type Line = readonly [number, readonly number[]]
  return html`
    <details>
      <summary>The same as a table</summary>
      ${table(
        `${title}: ${tells} of each ${unit}, the newest first`,
        [
          {
            name: `Beginning of the ${unit}`,
            cell: ([at]: Line) => html`<time>${clockAt(at).slice(0, 5)}</time>`,
          },
          ...parts.map(({ label }, i) => ({
            name: label,
            isNumber: true,
            cell: ([, values]: Line) => text(values[i] ?? 0),
          })),
        ],
        [...lines].sort(([a], [b]) => b - a),
        ([at]) => at,
      )}
    </details>
  `
}

/** Values of several rows or parts as one. */
export function joinedBy({ isOfCounts }: Look, values: readonly number[]): number {
  return isOfCounts ? values.reduce((sum, each) => sum + each, 0) : Math.max(...values)
}

/** The time of the day of a second, in UTC. */
export function clockAt(at: number): string {
  return new Date(at * 1_000).toISOString().slice(11, 19)
}
