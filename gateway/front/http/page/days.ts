import { count } from './format.ts'
import { gatewayNowMs } from './utc.ts'
import { html, type Child } from './html.ts'
import { column, numeric, table } from './table.ts'
import {
  Columns,
  evenEdges,
  stackedBars,
  type Plot,
  above,
  below,
  left,
  roundSteps,
  stepLines,
} from './columns.ts'

const height = 140

/** Counts by day, such as `2026-11-23`, in the order of the parts. */
export type Day = Readonly<{ day: string; counts: readonly number[] }>

/** One colour of the bars: its token in `tokens.css`, and its words. */
type DayPart = Readonly<{ name: string; label: string }>

type Props = Readonly<{
  title: string
  /** The chart in a sentence. */
  summary: string
  parts: readonly DayPart[]
  days: readonly Day[]
  /** How many days are drawn, the last of them today. */
  span: number
  /** The same as a table, if it has more than these counts. */
  numbers?: Child
}>

/** A bar for each day up to today, in UTC, and the same as a table. */
export function DayBars({ title, summary, parts, days, span, numbers }: Props) {
  const byDay = new Map(days.map((each) => [each.day, each.counts]))
  const drawn = lastDays(span).map((day) => ({ day, counts: byDay.get(day) ?? [] }))
  const plot = (width: number): Plot => {
    const edges = evenEdges(span, width)
    return {
      edges,
      drawing: bars(drawn, parts, edges),
      read: (at) => {
        const { day, counts } = drawn[at ?? -1] ?? {}
        const countOf = (i: number): number =>
          counts ? (counts[i] ?? 0) : sum(drawn.map((each) => each.counts[i] ?? 0))
        return { head: day ?? `In ${span} days`, texts: parts.map((_each, i) => count(countOf(i))) }
      },
    }
  }
  const counted = table<Day>(
    `${title}, newest day first`,
    [
      column('Day', ({ day }) => day),
      ...parts.map(({ label }, i) => numeric<Day>(label, ({ counts }) => count(counts[i] ?? 0))),
    ],
    [...days].sort((a, b) => (a.day < b.day ? 1 : -1)),
    ({ day }) => day,
  )
  return html`<${Columns} ...${{ summary, height, parts, plot, numbers: numbers ?? counted }} />`
}

function bars(days: readonly Day[], parts: readonly DayPart[], edges: readonly number[]): Child {
  const steps = roundSteps(Math.max(0, ...days.map(({ counts }) => sum(counts))))
  const top = steps.at(-1) ?? 1
  const y = (value: number): number => above + (height - above - below) * (1 - value / top)
  const width = edges.at(-1) ?? 0
  return html`
    ${stepLines(steps, width, y)}
    ${stackedBars(
      parts,
      days.map(({ counts }) => counts),
      edges,
      y,
    )}
    <text class="axis" x=${left} y=${height - 6}>${days[0]?.day}</text>
    <text class="axis" x=${width} y=${height - 6} text-anchor="end">today</text>
  `
}

/** The last days in UTC, today at the end. */
function lastDays(span: number): readonly string[] {
  const dayMs = 86_400_000
  return Array.from({ length: span }, (_each, i) =>
    new Date(gatewayNowMs() - (span - 1 - i) * dayMs).toISOString().slice(0, 10),
  )
}

/** All refused requests of a day, for whatever reason. */
export function refusedOf({ refused }: Readonly<{ refused: Readonly<Record<string, number>> }>) {
  return sum(Object.values(refused))
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}
