import { useEffect, useRef, useState } from 'preact/hooks'
import { html, type Child } from './html.ts'
import { count } from './format.ts'

/** Room for the numbers at the left of a chart. */
export const left = 44

/** Room above the highest line, and for the words below. */
export const above = 8
export const below = 22

/** A drawing for some width, in columns, and how it is read. */
export type Plot = Readonly<{
  drawing: Child
  /** The left edges of all columns, and the right edge of the last. */
  edges: readonly number[]
  /** The numbers of a column, or without one of the whole. */
  read: (column?: number) => Reading
}>

/** The subject of the numbers, and their texts in the order of the chart's parts. */
export type Reading = Readonly<{ head: string; texts: readonly string[] }>

type Props = Readonly<{
  title?: string
  /** The chart in a sentence. */
  summary: string
  height: number
  /** The colours, and their meanings. */
  parts: readonly Readonly<{ name: string; label: string }>[]
  plot: (width: number) => Plot
  /** The text between the drawing and its numbers. */
  between?: Child
  /** The same as a table. */
  numbers: Child
}>

/** A chart in columns. Whoever points at one, or goes to it by arrow keys, reads its numbers below. */
export function Columns({ title, summary, height, parts, plot, between, numbers }: Props) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const [pointed, setPointed] = useState<number>()
  const { drawing, edges, read } = plot(Math.max(width, left + 1))
  const last = edges.length - 2
  const [from, to] = pointed === undefined ? [] : [edges[pointed], edges[pointed + 1]]
  const isPointed = from !== undefined && to !== undefined
  // A finger's tap is such a movement too, and its numbers stay until the next one.
  const point = ({ offsetX }: MouseEvent): void =>
    setPointed(edges.findLastIndex((edge) => edge <= offsetX))
  const move = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
    if (by === 0) return
    event.preventDefault()
    setPointed(Math.max(0, Math.min(last, (pointed ?? last + 1) + by)))
  }
  const { head, texts } = read(isPointed ? pointed : undefined)
  const labels = parts.map(({ label }, i) => `${label} ${texts[i]}`)
  return html`
    <figure class="chart">
      ${title !== undefined && html`<h2>${title}</h2>`}
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
            aria-valuemax=${last}
            aria-valuenow=${pointed ?? last}
            aria-valuetext=${isPointed ? [head, ...labels].join(', ') : 'Arrow keys read its columns'}
            onKeyDown=${move}
            onBlur=${() => setPointed(undefined)}
            onMouseMove=${point}
            onMouseLeave=${() => setPointed(undefined)}
          >
            ${drawing}
            ${isPointed && html`<rect class="pointed" x=${from} y=${above} width=${to - from} height=${height - above - below} />`}
          </svg>`
        }
      </div>
      ${between}
      <figcaption>
        <p class="legend-head">${head}</p>
        ${
          parts.length > 0 &&
          html`<ul class="legend">
            ${parts.map(({ name, label }, i) => legendItem(name, label, texts[i]))}
          </ul>`
        }
      </figcaption>
      <details>
        <summary>Show as table</summary>
        ${numbers}
      </details>
    </figure>
  `
}

/** Bars for the values of columns, each part upon those before it. The smallest are a pixel high. */
export function stackedBars(
  parts: readonly Readonly<{ name: string }>[],
  columns: readonly (readonly number[])[],
  edges: readonly number[],
  y: (value: number) => number,
): Child {
  const step = (edges[1] ?? 0) - left
  const wide = (step - Math.min(1, step / 8)).toFixed(1)
  const tops = columns.map(() => 0)
  return parts.map(({ name }, part) => {
    const bar = (values: readonly number[], column: number): string => {
      const { [part]: value = 0 } = values
      if (value === 0) return ''
      const base = tops[column] ?? 0
      tops[column] = base + value
      const from = y(base)
      const to = Math.min(y(base + value), from - 1)
      return `M${edges[column]?.toFixed(1)} ${from.toFixed(1)}h${wide}V${to.toFixed(1)}h-${wide}z`
    }
    return html`<path class="part" style=${colourOf(name)} d=${columns.map(bar).join('')} />`
  })
}

/** The edges of columns of one width. */
export function evenEdges(columns: number, width: number): readonly number[] {
  return Array.from({ length: columns + 1 }, (_each, i) => left + (i * (width - left)) / columns)
}

/** The lines across a chart: round numbers from 0 to at least `highest`, four at most, and `least` apart. */
export function roundSteps(highest: number, least = 1): readonly number[] {
  const step = Math.max(least, roundUp(Math.max(highest, least) / 4))
  const steps = Math.max(1, Math.ceil(highest / step))
  return Array.from({ length: steps + 1 }, (_each, i) => i * step)
}

/** The next of 1, 2, 5, 10, 20, 50, … */
function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number))
  const digits = number / power
  return Math.round((digits <= 1 ? 1 : digits <= 2 ? 2 : digits <= 5 ? 5 : 10) * power * 1e6) / 1e6
}

/** The lines across a chart of some width, with their numbers. */
export function stepLines(
  steps: readonly number[],
  width: number,
  y: (value: number) => number,
): Child {
  return steps.map(
    (value) => html`
      <line class="grid" x1=${left} x2=${width} y1=${y(value)} y2=${y(value)} />
      <text class="axis" x=${left - 6} y=${y(value) + 4} text-anchor="end">${short(value)}</text>
    `,
  )
}

/** A number on an axis, such as 20k. */
function short(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`
  return value >= 10_000 ? `${value / 1e3}k` : count(value)
}

/** The style of a part of the traffic: its colour is the token of its name. */
export function colourOf(name: string) {
  return { '--part': `var(--${name})` }
}

/** The meaning of one colour, with its number. */
function legendItem(name: string, label: string, value: string | undefined): Child {
  return html`
    <li>
      <svg class="swatch" width="12" height="12" aria-hidden="true">
        <rect class="part" style=${colourOf(name)} width="12" height="12" rx="3" />
      </svg>
      <span>${label}</span>
      <b>${value}</b>
    </li>
  `
}

/** The present width of an element in pixels, for charts that are drawn for it. */
function useWidth<Of extends Element>() {
  const ref = useRef<Of>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    if (!ref.current) return
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.floor(entry.contentRect.width))
    })
    observer.observe(ref.current)
    return () => observer.disconnect()
  }, [])
  return { ref, width }
}
