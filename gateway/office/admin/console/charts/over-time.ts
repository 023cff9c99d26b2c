import { useState } from 'preact/hooks'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  clockAt,
  joinedBy,
  legendOf,
  numbersOf,
  shapes,
  valuesBy,
  type Column,
  type Figures,
  type Look,
} from './over-time-numbers.ts'
import { left, roundSteps, stepLines, useWidth } from './scale.ts'

/** Room for the times below, and above the highest line. */
const below = 22
const above = 8

/** The narrowest column in pixels that can be read and pointed at. */
const narrowest = 4

/** Figures over time, in columns. Whoever points at one reads its numbers below. */
export function OverTime({ figures, look }: { figures: Figures; look: Look }) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const [pointed, setPointed] = useState<number>()
  const { title, summary, height } = look
  const columns = columnsOf(figures, look, Math.max(1, width - left))
  // A finger's tap is such a movement too, and its numbers stay until the next one.
  const point = ({ offsetX }: MouseEvent): void =>
    setPointed(Math.floor(((offsetX - left) / (width - left)) * columns.length))
  return html`
    <figure class="chart">
      <h2>${title}</h2>
      <div ref=${ref} class="drawing">
        ${
          width > 0 &&
          html`<svg
            width=${width}
            height=${height}
            role="img"
            aria-label=${summary}
            onMouseMove=${point}
            onMouseLeave=${() => setPointed(undefined)}
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
