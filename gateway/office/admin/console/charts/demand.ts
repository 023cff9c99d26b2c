import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { numeric, table } from '../page-parts.ts'
import type { Curve } from '../../../foresight/demand.ts'
import {
  Columns,
  type Plot,
  below,
  colourOf,
  left,
  roundSteps,
  stepLines,
} from '../../../../front/http/page/columns.ts'
import { typedIn } from '../controls.ts'

const height = 190

/** Room for the words of limits above the highest line. */
const aboveLines = 18

type Props = Readonly<{
  /** Such as `a minute`. */
  unit: string
  curve: Curve
  limit: number | undefined
  /** The limit that is thought of. */
  draft: number | undefined
  choose: (limit: number) => void
}>

/**
 * How many quotas have used at least so much of a window: the curve falls from all of them to the one that used most. The
 * limit is a line across it; the slider below moves another one.
 */
export function Demand({ unit, curve, limit, draft, choose }: Props) {
  const most =
    roundSteps(1.1 * Math.max(limit ?? 1, draft ?? 1, curve.at(-1)?.[0] ?? 1)).at(-1) ?? 1
  const value = draft ?? limit ?? most
  const plot = (width: number): Plot => {
    const x = (use: number): number => left + (use / most) * (width - left - 10)
    return {
      edges: [0, ...curve.map(([use]) => use)].map(x),
      drawing: drawing(curve, { most, limit, draft, width, x }),
      read: (at) => {
        const [use, quotas] = curve[at ?? -1] ?? []
        if (use === undefined) return { head: sentenceOf(curve, unit, draft ?? limit), texts: [] }
        const of = `${count(quotas ?? 0)} of ${count(curve[0]?.[1] ?? 0)} quotas`
        return { head: `${of} used at least ${count(use)} ${unit}.`, texts: [] }
      },
    }
  }
  const slider = html`<input
    class="slider"
    type="range"
    min="1"
    max=${most}
    value=${value}
    aria-label=${`Another limit ${unit}`}
    onInput=${(event: Event) => choose(Number(typedIn(event)))}
  />`
  const numbers = table<Curve[number]>(
    `Quotas by their highest use ${unit}`,
    [
      numeric('Used at least', ([use]) => count(use)),
      numeric('Quotas', ([, quotas]) => count(quotas)),
    ],
    curve,
    ([use]) => use,
    'tall',
  )
  const title = `Highest use ${unit} of each quota`
  const summary = sentenceOf(curve, unit, limit)
  return html`<${Columns}
    ...${{ title, summary, height, parts: [], plot, numbers }}
    between=${slider}
  />`
}

/** The number of quotas that have used more than a limit. */
function quotasAbove(curve: Curve, limit: number): number {
  return curve.find(([use]) => use > limit)?.[1] ?? 0
}

function sentenceOf(curve: Curve, unit: string, limit: number | undefined): string {
  const all = curve[0]?.[1] ?? 0
  if (all === 0) return 'No quota has used anything yet.'
  const most = `The highest use was ${count(curve.at(-1)?.[0] ?? 0)}.`
  if (limit === undefined) return `${count(all)} quotas, without a limit ${unit}. ${most}`
  return `${count(quotasAbove(curve, limit))} of ${count(all)} quotas used more than ${count(limit)} ${unit}. ${most}`
}

type Drawn = Readonly<{
  most: number
  limit: number | undefined
  draft: number | undefined
  width: number
  x: (use: number) => number
}>

function drawing(curve: Curve, { most, limit, draft, width, x }: Drawn): Child {
  const steps = roundSteps(curve[0]?.[1] ?? 1)
  const top = steps.at(-1) ?? 1
  const y = (quotas: number): number =>
    aboveLines + (height - aboveLines - below) * (1 - quotas / top)
  return html`
    ${stepLines(steps, width, y)}
    ${roundSteps(most).map(
      (use) => html`
        <text
          class="axis"
          x=${x(use)}
          y=${height - 6}
          text-anchor=${use === most ? 'end' : 'middle'}
        >
          ${count(use)}
        </text>
      `,
    )}
    <path class="part" style=${colourOf('answered')} d=${outline(curve, x, y)} />
    ${limit !== undefined && line('limit', `limit ${count(limit)}`, x(limit), width)}
    ${draft !== undefined && draft !== limit && line('draft', `${count(draft)}`, x(draft), width)}
  `
}

function line(kind: 'limit' | 'draft', label: string, x: number, width: number): Child {
  const anchor = x > width - 80 ? 'end' : 'start'
  return html`
    <line class=${`line-${kind}`} x1=${x} x2=${x} y1=${aboveLines - 4} y2=${height - below} />
    <text
      class=${`axis line-${kind}-label`}
      x=${anchor === 'end' ? x - 5 : x + 5}
      y=${aboveLines - 4}
      text-anchor=${anchor}
    >
      ${label}
    </text>
  `
}

/** The area below the curve, in steps: so many quotas up to each use. */
function outline(curve: Curve, x: (use: number) => number, y: (quotas: number) => number): string {
  const corners = curve.map(([use, quotas], i) => {
    const from = curve[i - 1]?.[0] ?? 0
    return `${x(from).toFixed(1)},${y(quotas).toFixed(1)} ${x(use).toFixed(1)},${y(quotas).toFixed(1)}`
  })
  const last = curve.at(-1)?.[0] ?? 0
  return corners.length === 0
    ? ''
    : `M${x(0)},${y(0)} ${corners.join(' ')} ${x(last).toFixed(1)},${y(0)}Z`
}
