import { date } from '../../http/page/format.ts'
import { html, type Child } from '../../http/page/html.ts'
import { gatewayNowMs } from '../../http/page/time.ts'
import type { Operation } from './openapi.ts'
import { line } from './prose.ts'
import { deprecationOf, type Deprecation } from './terms.ts'
import type { Terms } from '../terms.ts'

/** Until when an operation that goes is there, or only that it goes; `undefined` for one that stays. */
export function leavingText(
  terms: Terms,
  { method, path, isDeprecated }: Operation,
): string | undefined {
  const deprecation = deprecationOf(terms, method, path)
  if (!deprecation) return isDeprecated ? 'deprecated' : undefined
  const { sunset, afterSunset } = deprecation
  if (sunset === null) return 'deprecated'
  const isOver = Date.parse(sunset) <= gatewayNowMs() && afterSunset === 'gone'
  return isOver ? `removed on ${date(sunset)}` : `until ${date(sunset)}`
}

/** When an operation ends, and what to use instead. */
export function deprecationText(deprecation: Deprecation | undefined): Child {
  if (!deprecation) return html`<p class="banner">This operation is deprecated.</p>`
  const { since, sunset, replacement, docs, afterSunset, brownouts } = deprecation
  const then =
    afterSunset === 'gone' ? 'After that it returns 410.' : 'It may keep working after that.'
  return html`
    <div class="banner">
      <p>
        ${`Deprecated since ${date(since)}.`}
        ${sunset && html`<b> Removed on ${date(sunset)}.</b> ${then}`}
      </p>
      ${replacement && html`<p>${line(`Use \`${replacement}\` instead.`)}</p>`}
      ${docs && html`<p>More: ${line(/^https?:/.test(docs) ? `[${docs}](${docs})` : docs)}</p>`}
      ${
        brownouts.length > 0 &&
        html`<p>
          Switched off in rehearsals of the removal:
          ${brownouts.map(({ from, to }) => ` ${date(from)} to ${date(to)}`).join(',')}.
        </p>`
      }
    </div>
  `
}
