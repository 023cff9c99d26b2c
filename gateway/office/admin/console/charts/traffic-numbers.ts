import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { table } from '../page-parts.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'
import type { LiveRange, LiveRow } from '../../../live/picture.ts'
import { percent, refusedOf, type Part } from './outcomes.ts'

/** Requests a second in one column of the chart, by part. */
export type Stack = Readonly<{ at: number; values: readonly number[] }>

/** The meaning of each colour, with the numbers of the moment that is pointed at, else of the whole range. */
export function Legend({
  parts,
  stack,
  sums,
  range,
}: {
  parts: readonly Part[]
  stack: Stack | undefined
  sums: SumsView
  range: LiveRange
}) {
  const whole = range === 'day' ? 'In 24 hours' : 'In 15 minutes'
  return html`
    <p class="legend-head">${stack ? `${clockAt(stack.at)} UTC, a second` : whole}</p>
    <ul class="legend">
      ${parts.map(
        ({ name, label, countOf }, i) => html`
          <li>
            <svg class="swatch" width="12" height="12" aria-hidden="true">
              <rect class=${`part-${name}`} width="12" height="12" rx="3" />
            </svg>
            <span>${label}</span>
            <b>${stack ? rate(stack.values[i] ?? 0) : count(countOf(sums))}</b>
          </li>
        `,
      )}
    </ul>
  `
}

/** The chart as a table; `line` is the seconds of a line, and `unit` its name. */
export function numbersOf(
  rows: readonly LiveRow[],
  parts: readonly Part[],
  { line, unit }: Readonly<{ line: number; unit: string }>,
  range: LiveRange,
): Child {
  const lines = new Map<number, number[]>()
  for (const row of rows) {
    const at = Math.floor(row.at / line) * line
    const sums = lines.get(at) ?? parts.map(() => 0)
    lines.set(at, sums)
    parts.forEach(({ countOf }, i) => (sums[i] = (sums[i] ?? 0) + countOf(row)))
  }
  type Line = readonly [number, readonly number[]]
  return html`
    <details>
      <summary>The same as a table</summary>
      ${table(
        `Requests of each ${unit}, the newest first`,
        [
          {
            name: range === 'day' ? 'Hour' : 'Minute',
            cell: ([at]: Line) => html`<time>${hourAt(at)}</time>`,
          },
          ...parts.map(({ label }, i) => ({
            name: label,
            isNumber: true,
            cell: ([, sums]: Line) => count(sums[i] ?? 0),
          })),
        ],
        [...lines].sort(([a], [b]) => b - a),
        ([at]) => at,
      )}
    </details>
  `
}

/** The chart in a sentence. */
export function summaryOf(range: LiveRange, sums: SumsView): string {
  const { requests, failed, backendFailed } = sums
  const when = range === 'day' ? 'In the last 24 hours' : 'In the last 15 minutes'
  if (requests === 0) return `${when} nothing was asked.`
  return `${when} ${count(requests)} requests came; ${percent(refusedOf(sums), requests)} of them were refused, and ${percent(failed + backendFailed, requests)} failed.`
}

function rate(value: number): string {
  return value < 10 && !Number.isInteger(value) ? value.toFixed(1) : count(Math.round(value))
}

function clockAt(at: number): string {
  return new Date(at * 1_000).toISOString().slice(11, 19)
}

/** The hour and minute of a time in seconds, in UTC. */
export function hourAt(at: number): string {
  return clockAt(at).slice(0, 5)
}
