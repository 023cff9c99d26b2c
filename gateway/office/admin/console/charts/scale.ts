import { useEffect, useRef, useState } from 'preact/hooks'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'

/** Room for the numbers at the left of a chart. */
export const left = 44

/** Room above the highest line, and for the words below. */
export const above = 8
export const below = 22

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
export function legendItem(name: string, label: string, value: string | undefined): Child {
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
export function useWidth<Of extends Element>() {
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
