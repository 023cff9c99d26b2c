import { count } from '../../../../front/http/page/format.ts'
import { html } from '../../../../front/http/page/html.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'
import type { LiveRange } from '../../../live/snapshot.ts'
import { failedOf, marks, partsOf, percent, refusedOf } from './outcomes.ts'
import { stackedBars, colourOf } from '../../../../front/http/page/columns.ts'
import { shapes, OverTime, type Column, type Figures, type Look } from './over-time.ts'

/** Lines go on over so many columns without requests. */
const gap = 12

/** Requests a second by outcome, one upon the other. */
export function Traffic({ figures }: { figures: Figures }) {
  const { range, rows, sums } = figures
  const parts = partsOf([sums, ...rows])
  const look: Look = {
    ...{ title: 'Requests a second', summary: summaryOf(range, sums) },
    ...{ parts, isOfCounts: true, text: rate, height: 240 },
    draw: (columns, edges, y) =>
      stackedBars(
        parts,
        columns.map(({ values }) => values),
        edges,
        y,
      ),
  }
  return html`<${OverTime} figures=${figures} look=${look} />`
}

type LatencyProps = Readonly<{ figures: Figures; title: string; of: 'own' | 'upstream' }>

/** The times within which half and 99 % of the requests were; a line across is the mark that p99 has been over. */
export function Latency({ figures, title, of }: LatencyProps) {
  const shown = [
    ['p50', 'answered'],
    ['p99', 'day'],
  ] as const
  const parts = shown.map(([label, name]) => ({
    ...{ name, label },
    countOf: (sums: SumsView) => sums[of]?.[label] ?? 0,
  }))
  const texts = parts.map(({ label, countOf }) => `${label} ${countOf(figures.sums)} ms`)
  const look: Look = {
    ...{ title, summary: `${title}: ${texts.join(', ')}.` },
    ...{ parts, isOfCounts: false, text: (ms) => (ms ? `${count(ms)} ms` : '–'), height: 160 },
    draw: (columns, edges, y) => {
      const x = (column: number): number => edges[column] ?? 0
      const line = (part: number): string => {
        let before = -gap
        const pointOf = ({ values }: Column, column: number): string => {
          const value = values[part] ?? 0
          if (value === 0) return ''
          const move = column - before < gap ? 'L' : 'M'
          before = column
          return `${move}${short(x(column))} ${short(y(value))}H${short(x(column + 1))}`
        }
        return columns.map(pointOf).join('')
      }
      const isOver = columns.some(({ values: [, p99 = 0] }) => p99 > marks[of])
      const mark = y(marks[of])
      return html`
        ${
          isOver &&
          html`<path class="line-draft" d=${`M${x(0)} ${mark}H${x(columns.length)}`} />
            <text class="axis line-draft-label" x=${x(0) + 4} y=${mark - 4}
              >${`threshold ${count(marks[of])} ms`}</text
            >`
        }
        ${parts.map(({ name }, part) => html`<path class="line" style=${colourOf(name)} d=${line(part)} />`)}
      `
    },
  }
  return html`<${OverTime} figures=${figures} look=${look} />`
}

/** The chart in a sentence. */
export function summaryOf(range: LiveRange, sums: SumsView): string {
  const { requests } = sums
  const when = `In the last ${shapes[range].whole}`
  if (requests === 0) return `${when} there were no requests.`
  return `${when} there were ${count(requests)} requests; ${percent(refusedOf(sums), requests)} were refused, and ${percent(failedOf(sums), requests)} failed.`
}

/** A number of requests, or of such a second. */
export function rate(value: number): string {
  return value < 10 ? String(Number(value.toPrecision(2))) : count(Math.round(value))
}

/** A place in a drawing. */
function short(pixels: number): string {
  return pixels.toFixed(1)
}
