import { useState } from 'preact/hooks'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'
import type { LiveRange, LiveRow } from '../../../live/picture.ts'
import { partsOf, type Part } from './outcomes.ts'
import { roundSteps, useWidth } from './scale.ts'
import { hourAt, Legend, numbersOf, summaryOf, type Stack } from './traffic-numbers.ts'

const height = 240
/** Room for the numbers at the left and the times below. */
const left = 44
const below = 22
const above = 8

/** How the ranges are drawn: seconds of a row, seconds between the times below, and seconds of a line of the table. */
const shapes = {
  '15m': { span: 900, step: 5, tick: 180, line: 60, unit: 'minute' },
  day: { span: 86_400, step: 60, tick: 14_400, line: 3_600, unit: 'hour' },
} as const

type Props = Readonly<{ range: LiveRange; rows: readonly LiveRow[]; sums: SumsView; endAt: number }>

/** Requests a second by outcome, one upon the other. Whoever points at a moment reads its numbers below. */
export function Traffic({ range, rows, sums, endAt }: Props) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const [pointed, setPointed] = useState<number>()
  const shape = shapes[range]
  const parts = partsOf([sums, ...rows])
  const stacks = stacksOf(rows, parts, shape, endAt, Math.max(1, width - left))
  const at = pointed === undefined ? undefined : stacks[pointed]
  const point = (event: PointerEvent): void => {
    const x = event.offsetX - left
    const index = Math.floor((x / Math.max(1, width - left)) * stacks.length)
    setPointed(index >= 0 && index < stacks.length ? index : undefined)
  }
  return html`
    <figure class="chart">
      <div ref=${ref} class="drawing">
        ${
          width > 0 &&
          html`<svg
            width=${width}
            height=${height}
            role="img"
            aria-label=${summaryOf(range, sums)}
            onPointerMove=${point}
            onPointerLeave=${() => setPointed(undefined)}
          >
            ${drawing(stacks, parts, shape, endAt, width, pointed)}
          </svg>`
        }
      </div>
      <figcaption>
        <${Legend} parts=${parts} stack=${at} sums=${sums} range=${range} />
      </figcaption>
      ${numbersOf(rows, parts, shape, range)}
    </figure>
  `
}

type Shape = (typeof shapes)[LiveRange]

/** The columns: several rows share one where the chart is narrow. The second that runs isn't drawn. */
function stacksOf(
  rows: readonly LiveRow[],
  parts: readonly Part[],
  shape: Shape,
  endAt: number,
  width: number,
): Stack[] {
  const { span, step } = shape
  const per = step * Math.max(1, Math.ceil(span / step / width))
  const last = Math.floor(endAt / per) * per
  const columns = Math.floor(span / per)
  const first = last - columns * per
  const sums = Array.from({ length: columns }, () => parts.map(() => 0))
  for (const row of rows) {
    const column = sums[Math.floor((row.at - first) / per)]
    if (column)
      parts.forEach(({ countOf }, i) => (column[i] = (column[i] ?? 0) + countOf(row) / per))
  }
  return sums.map((values, i) => ({ at: first + i * per, values }))
}

function drawing(
  stacks: readonly Stack[],
  parts: readonly Part[],
  { span, tick }: Shape,
  endAt: number,
  width: number,
  pointed: number | undefined,
): Child {
  const highest = Math.max(0, ...stacks.map(({ values }) => values.reduce((a, b) => a + b, 0)))
  const steps = roundSteps(highest)
  const top = steps.at(-1) ?? 1
  const y = (value: number): number =>
    above + (height - above - below) * (1 - Math.min(1, value / top))
  const wide = (width - left) / stacks.length
  const x = (column: number): number => left + column * wide
  const xAt = (at: number): number => left + ((at - (endAt - span)) / span) * (width - left)
  const ticks: number[] = []
  for (let at = Math.ceil((endAt - span) / tick) * tick; at <= endAt; at += tick) ticks.push(at)
  return html`
    ${steps.map(
      (value) => html`
        <line class="grid" x1=${left} x2=${width} y1=${y(value)} y2=${y(value)} />
        <text class="axis" x=${left - 6} y=${y(value) + 4} text-anchor="end">${count(value)}</text>
      `,
    )}
    ${parts.map(({ name }, part) => html`<path class=${`part-${name}`} d=${areaOf(stacks, part, x, y)} />`)}
    ${ticks
      .filter((at) => xAt(at) > left + 18 && xAt(at) < width - 18)
      .map(
        (at) => html`
          <text class="axis" x=${xAt(at)} y=${height - 6} text-anchor="middle">${hourAt(at)}</text>
        `,
      )}
    ${
      pointed !== undefined &&
      html`<rect
        class="pointed"
        x=${x(pointed)}
        y=${above}
        width=${Math.max(1, wide)}
        height=${height - above - below}
      />`
    }
  `
}

/** The outline of one part: along its upper edge, and back along its lower one. */
function areaOf(
  stacks: readonly Stack[],
  part: number,
  x: (column: number) => number,
  y: (value: number) => number,
): string {
  const sumTo = ({ values }: Stack, end: number): number =>
    values.slice(0, end).reduce((all, each) => all + each, 0)
  if (stacks.every(({ values }) => values[part] === 0)) return ''
  const edge = (end: number, stack: Stack, column: number): string => {
    const height = y(sumTo(stack, end)).toFixed(1)
    return `${x(column).toFixed(1)},${height} ${x(column + 1).toFixed(1)},${height}`
  }
  const upper = stacks.map((stack, column) => edge(part + 1, stack, column))
  const lower = stacks.map((stack, column) => {
    const height = y(sumTo(stack, part)).toFixed(1)
    return `${x(column + 1).toFixed(1)},${height} ${x(column).toFixed(1)},${height}`
  })
  return `M${upper.join(' ')} ${lower.reverse().join(' ')}Z`
}
