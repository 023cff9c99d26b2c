import { count, duration } from '../../http/page/format.ts'
import { html, type Child } from '../../http/page/html.ts'
import { requestsText } from '../../http/page/parts.ts'
import type { LimitName } from '../../../../shared/windows.ts'
import { capital, limitsText, limitText } from '../../http/page/windows.ts'
import { allWindowsIn, beginnings, haveOperations, oneOf, windowsIn } from './plan-windows.ts'
import { line, prose } from './prose.ts'
import type { Terms } from '../terms.ts'

/** The plans in force. */
export function plansView(terms: Terms): Child {
  const shown = windowsIn(terms)
  const hasOperations = haveOperations(terms)
  return html`
    <section aria-labelledby="plans">
      <h2 id="plans" tabindex="-1">Plans and limits</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="Plans">
        <table>
          <thead>
            <tr>
              <th scope="col">Plan</th>
              ${shown.map(({ each }) => html`<th scope="col" class="number">${each}</th>`)}
              ${hasOperations && html`<th scope="col">operations</th>`}
              <th scope="col">only</th>
            </tr>
          </thead>
          <tbody>
            ${terms.plans.map(
              ({ name, limits, included, operations, ...requests }) => html`
                <tr data-plan=${name}>
                  <th scope="row">${name}</th>
                  ${shown.map(
                    ({ limit }) =>
                      html`<td class="number">${boundText(limits, included?.[limit], limit)}</td>`,
                  )}
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

/** A limit, and of points that are metered beyond it the last one. */
function boundText(limits: Plan['limits'], included: number | undefined, name: LimitName): string {
  if (!limits) return 'agreed'
  if (included === undefined) return limitText(limits[name])
  const most = limits[name]
  const bound = typeof most === 'number' ? `up to ${count(most)}` : 'without end'
  return `${count(included)}, then metered ${bound}`
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
    ? 'Where the answer tells what a request costs, it is let in with an estimate, and the difference is counted when it has been answered: the next answer tells. '
    : ''
  return (
    `Limits are in points; a request costs one, unless its operation says otherwise. ${estimates}${operations}` +
    `In UTC, ${beginnings(allWindowsIn(terms))}. Keys of one account share one quota; a key with a cap gets only a part of it. ` +
    'Asking how you stand costs nothing.'
  )
}

/** The advice for a refused caller. */
export function refusedView(terms: Terms): Child {
  return html`
    <section aria-labelledby="refused">
      <h2 id="refused" tabindex="-1">When you are refused</h2>
      ${prose(everyAnswer)} ${terms.nearPercent !== null && prose(notice(terms, terms.nearPercent))}
      <dl>
        ${refusals(terms).map(
          ([codes, advice]) =>
            html`<dt>${line(codes)}</dt>
              <dd>${line(advice)}</dd>`,
        )}
      </dl>
      <h3>Try each with a test key</h3>
      ${prose(testKeys(terms))}
    </section>
  `
}

const everyAnswer =
  'Every answer has `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (Unix seconds) of the window that ' +
  'will stop you first, and `X-Request-Id`, which the API’s operator can look up. Every refusal has the body ' +
  '`{ "code", "message", "status" }`: decide by the code.'

function testKeys(terms: Terms): string {
  const [first = '', ...others] = [...windowsIn(terms).map(({ name }) => name), ...otherActs]
  return (
    `A test key, which the API’s operator makes, gets each of these at no cost: send \`X-Gateway-Act: ${first}\` with it, or ` +
    `${others.map((name) => `\`${name}\``).join(', ')}, and, for answers that aren’t refusals, \`near_limit\`, ` +
    '`deprecated` and `slow=3s`. The answer is the real one, with `X-Gateway-Acted` beside it.'
  )
}

const otherActs = [
  'ban',
  'expired',
  'forbidden',
  'too_many_failed_attempts',
  'too_many_at_once',
  'sunset',
  'brownout',
  'bad_gateway',
  'gateway_timeout',
  'unavailable',
]

function notice(terms: Terms, percent: number): string {
  const near = windowsIn(terms).filter(({ name }) => terms.nearWindows.includes(name))
  return (
    `From ${percent} % of ${oneOf(near)} on, answers also have \`X-RateLimit-Notice: ${near.at(-1)?.name}; used=${percent}\`, with ` +
    'the percentage that is used: time to slow down, or to ask for a larger plan.'
  )
}

/** Each refusal with what to do, in the Markdown of `prose`. */
function refusals(terms: Terms): readonly (readonly [string, string])[] {
  const { bans, strangers, plans } = terms
  const { strikes, withinMs, graceMs, forMs, atMostMs } = bans
  const areBanned = plans.some((plan) => plan.bans)
  const strike = ` Don’t go on without waiting: later than ${duration(graceMs)} after the first refusal, each further one is a strike.`
  const ban = `${count(strikes)} strikes within ${duration(withinMs)} ban a key for ${duration(forMs)}, and further bans last longer, up to ${duration(atMostMs)}. Wait for \`Retry-After\`. Requests during a ban cost nothing and don’t make it longer.`
  return [
    [
      '`401 missing_api_key`, `invalid_api_key`',
      `Send \`${terms.keyHeader.name}: ${terms.keyHeader.before}YOUR_KEY\`. A key that has expired, was revoked or was mistyped gets the same answer. Such requests count against your address (${limitsText(strangers)}); beyond that they are \`429 too_many_failed_attempts\`, and a valid key still works.`,
    ],
    [
      '`403 forbidden`',
      'Your key or its plan isn’t for this operation. Sending it again doesn’t help; it cost nothing.',
    ],
    [
      '`429 rate_limit_exceeded`',
      `${capital(oneOf(allWindowsIn(terms)))} is used up: the message says which, and whether it is that of ${haveOperations(terms) ? 'an operation, or of ' : ''}your key’s cap. Wait as many seconds as \`Retry-After\` says: you are let in then. The refused request cost nothing.${areBanned ? strike : ''}`,
    ],
    [
      '`429 key_banned`',
      areBanned ? ban : 'The API’s operator has banned your key. Wait for `Retry-After`.',
    ],
    [
      '`429 too_many_at_once`',
      'Too many of your requests are under way. Send the next one when an answer has come.',
    ],
    ['`410 gone`', 'The operation was removed. `Link` says what to use instead.'],
    [
      '`502`, `503`, `504`',
      'The API is in trouble, or out of reach. Try again later, after `Retry-After` where it is given. A request that may have been done should only be repeated if that does no harm.',
    ],
  ]
}
