import { gatewayNowMs } from '../../../../front/http/page/gateway-time.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import { colourOf, useWidth } from './scale.ts'

const height = 64
const lineY = 30
const monthMs = 30 * 86_400_000

/** A deprecated operation's settings, as the configuration shows them. */
export type Deprecation = RunningConfig['config']['deprecations'][number]

/** An operation's way from its deprecation, over brownouts, to its sunset and the extensions of it; with today on it. */
export function Retirement({ deprecation }: { deprecation: Deprecation }) {
  const { ref, width } = useWidth<HTMLDivElement>()
  return html`
    <div ref=${ref} class="drawing">
      ${
        width > 0 &&
        html`<svg
          width=${width}
          height=${height}
          role="img"
          aria-label=${sentenceOf(deprecation, gatewayNowMs())}
        >
          ${drawing(deprecation, width, gatewayNowMs())}
        </svg>`
      }
    </div>
  `
}

function drawing(deprecation: Deprecation, width: number, nowMs: number): Child {
  const { since, sunset, brownouts, extensions } = deprecation
  const sinceMs = Date.parse(since)
  const sunsetMs = sunset === undefined ? undefined : Date.parse(sunset)
  const ends = extensions.map(({ until }) => Date.parse(until))
  const lastMs = Math.max(sunsetMs ?? nowMs, nowMs, ...ends)
  const firstMs = Math.min(sinceMs, nowMs)
  const spanMs = Math.max(monthMs, lastMs - firstMs)
  const x = (ms: number): number => 8 + ((ms - firstMs) / spanMs) * (width - 16)
  return html`
    <line class="way-ahead" x1=${x(sinceMs)} x2=${x(sunsetMs ?? lastMs)} y1=${lineY} y2=${lineY} />
    <line
      class="way-gone"
      x1=${x(sinceMs)}
      x2=${x(Math.min(nowMs, sunsetMs ?? nowMs))}
      y1=${lineY}
      y2=${lineY}
    />
    ${ends.map(
      (ms) => html`
        <line class="way-extended" x1=${x(sunsetMs ?? nowMs)} x2=${x(ms)} y1=${lineY} y2=${lineY} />
        <circle class="part" style=${colourOf('ban')} cx=${x(ms)} cy=${lineY} r="4" />
      `,
    )}
    ${brownouts.map(
      ({ from, to }) => html`
        <rect
          class="part"
          style=${colourOf('minute')}
          x=${x(Date.parse(from))}
          y=${lineY - 8}
          width=${Math.max(3, x(Date.parse(to)) - x(Date.parse(from)))}
          height="16"
        >
          <title>brownout from ${from} to ${to}</title>
        </rect>
      `,
    )}
    <circle class="part" style=${colourOf('answered')} cx=${x(sinceMs)} cy=${lineY} r="6" />
    ${sunsetMs !== undefined && html`<rect class="part" style=${colourOf('failed')} x=${x(sunsetMs) - 6} y=${lineY - 6} width="12" height="12" />`}
    <line class="way-today" x1=${x(nowMs)} x2=${x(nowMs)} y1="8" y2=${lineY + 12} />
    ${label('today', x(nowMs), 10, width)}
    ${label(since.slice(0, 10), x(sinceMs), height - 6, width)}
    ${sunset !== undefined && sunsetMs !== undefined && label(`sunset ${sunset.slice(0, 10)}`, x(sunsetMs), height - 6, width)}
  `
}

/** A text at a place of the way, inside of the picture. */
function label(text: string, x: number, y: number, width: number): Child {
  const anchor = x < 60 ? 'start' : x > width - 60 ? 'end' : 'middle'
  return html`<text class="axis" x=${x} y=${y} text-anchor=${anchor}>${text}</text>`
}

/** The way in a sentence. */
export function sentenceOf(
  { since, sunset, brownouts, replacement, afterSunset }: Deprecation,
  nowMs: number,
): string {
  const next = brownouts.find(({ to }) => Date.parse(to) > nowMs)
  const brownout = next ? ` The next brownout is from ${next.from} to ${next.to}.` : ''
  const instead = replacement === undefined ? '' : ` Callers are sent to ${replacement}.`
  if (sunset === undefined) return `Deprecated since ${since}, without a sunset.${instead}`
  const isOver = Date.parse(sunset) <= nowMs
  const gone = isOver ? `has returned 410 since ${sunset}` : `returns 410 from ${sunset}`
  const end = afterSunset === 'gone' ? gone : `is still served after its sunset on ${sunset}`
  return `Deprecated since ${since}; ${end}.${brownout}${instead}`
}
