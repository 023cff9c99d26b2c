import { html, type Child } from '../../http/page/html.ts'
import { requestsText } from '../../http/page/format.ts'
import type { LimitName } from '../../../../shared/windows.ts'
import {
  atOnceText,
  limitsText,
  limitText,
  meteredText,
  prepaidText,
} from '../../http/page/windows.ts'
import { allWindowsIn, beginnings, haveOperations, windowsIn } from './plan-windows.ts'
import type { Terms } from '../terms.ts'

/** The plans in force. */
export function plansView(terms: Terms): Child {
  const shown = windowsIn(terms)
  const hasOperations = haveOperations(terms)
  const hasPlaces = terms.plans.some(({ limits }) => limits?.atOnce !== undefined)
  return html`
    <section aria-labelledby="plans">
      <h2 id="plans" tabindex="-1">Plans and limits</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="Plans">
        <table>
          <thead>
            <tr>
              <th scope="col">Plan</th>
              ${shown.map(({ each }) => html`<th scope="col" class="number">${each}</th>`)}
              ${hasPlaces && html`<th scope="col" class="number">at once</th>`}
              ${hasOperations && html`<th scope="col">operations</th>`}
              <th scope="col">only</th>
            </tr>
          </thead>
          <tbody>
            ${terms.plans.map(
              ({ name, limits, included, prepaid, operations, ...requests }) => html`
                <tr data-plan=${name}>
                  <th scope="row">${name}</th>
                  ${shown.map(
                    ({ limit }) =>
                      html`<td class="number">
                        ${boundText(limits, included?.[limit], limit, prepaid)}
                      </td>`,
                  )}
                  ${hasPlaces && html`<td class="number">${limits ? atOnceText(limits.atOnce) : 'agreed'}</td>`}
                  ${hasOperations && html`<td>${operations.map(operationText)}</td>`}
                  <td>${requestsText(requests) || 'everything'}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
      <p>${aboutLimits(terms)}</p>
    </section>
  `
}

/** A limit, or what is included, and what lies beyond. */
function boundText(
  limits: Plan['limits'],
  included: number | undefined,
  name: LimitName,
  prepaid: Plan['prepaid'],
): string {
  if (!limits) return 'agreed'
  if (included === undefined) return limitText(limits[name])
  return prepaid ? prepaidText(included) : meteredText(included, limits[name])
}

type Plan = Terms['plans'][number]

/** An operation of a plan, with its requests and its limits. */
function operationText({ name, limits, ...requests }: PlanOperation): Child {
  return html`<div><b>${name}</b>${` (${requestsText(requests)}): ${limitsText(limits)}`}</div>`
}

type PlanOperation = Terms['plans'][number]['operations'][number]

function aboutLimits(terms: Terms): string {
  const operations = haveOperations(terms)
    ? 'A request that a plan lists under operations has to fit into the limits there as well. '
    : ''
  const estimates = terms.routes.some(({ atMost }) => atMost !== undefined)
    ? 'Where the answer tells what a request costs, it is admitted with an estimate, and the difference is counted once it has been answered: the next answer shows it. '
    : ''
  return (
    `Limits are in points; a request costs one, unless its operation says otherwise. ${estimates}${operations}` +
    `In UTC, ${beginnings(allWindowsIn(terms))}. Keys of one account share one quota; a key with a cap gets only a part of it. ` +
    'Reading your limits costs nothing.'
  )
}
