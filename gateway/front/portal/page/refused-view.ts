import { count, duration } from '../../http/page/format.ts'
import { html, type Child } from '../../http/page/html.ts'
import { capital, limitsText } from '../../http/page/windows.ts'
import { sharedRefusalId, type Openapi } from './openapi.ts'
import { responseView } from './operation-parts.ts'
import { allWindowsIn, haveOperations, oneOf, windowsIn } from './terms.ts'
import { line, prose } from './prose.ts'
import type { Terms } from '../terms.ts'

/** The advice for a refused caller. */
export function refusedView(openapi: Openapi, terms: Terms): Child {
  return html`
    <section aria-labelledby="refused">
      <h2 id="refused" tabindex="-1">When requests are refused</h2>
      ${prose(everyAnswer)} ${terms.nearPercent !== null && prose(notice(terms, terms.nearPercent))}
      <dl>
        ${refusals(terms).map(
          ([codes, advice]) =>
            html`<dt>${line(codes)}</dt>
              <dd>${line(advice)}</dd>`,
        )}
      </dl>
      <h3>Try each with a test key</h3>
      ${prose(testKeys(terms))} ${sharedView(openapi)}
    </section>
  `
}

/** The refusals that most operations share, as the document describes them. */
function sharedView(openapi: Openapi): Child {
  const { all } = openapi.sharedRefusals
  return (
    all.length > 0 &&
    html`
      <h3>Refusals shared by most operations</h3>
      ${all.map(([status, response]) => responseView(openapi, status, response, sharedRefusalId(status)))}
    `
  )
}

const everyAnswer =
  'Every answer has `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (Unix seconds) of the window that ' +
  'will stop you first, and `X-Request-Id`, which the API’s operator can look up. Every refusal has the body ' +
  '`{ "code", "message", "status" }`: decide by the code. Have one gate for all calls of a program: after a `429`, none asks before ' +
  '`Retry-After` has passed.'

function testKeys(terms: Terms): string {
  const hasPlaces = terms.plans.some(({ limits }) => limits?.atOnce !== undefined)
  const ofLimits = [
    ...windowsIn(terms).map(({ name }) => name),
    ...(hasPlaces ? ['at_once'] : []),
    ...(terms.plans.some(({ prepaid }) => prepaid) ? ['prepaid'] : []),
  ]
  const [first = '', ...others] = [...ofLimits, ...otherActs]
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
  const { withinMs, graceMs, forMs, atMostMs } = bans
  const areBanned = plans.some((plan) => plan.bans)
  const strike = ` Don’t go on without waiting: where a second or a minute is used up, each further refusal later than ${duration(graceMs)} after the first one is a strike.`
  const ban = `${strikesText(plans)} within ${duration(withinMs)} ban a key for ${duration(forMs)}, and further bans last longer, up to ${duration(atMostMs)}. Wait for \`Retry-After\`. Requests during a ban cost nothing and don’t make it longer.`
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
      `${capital(oneOf(allWindowsIn(terms)))} is used up: the message says which, and whether it is that of ${haveOperations(terms) ? 'an operation, or of ' : ''}your key’s cap. Wait as many seconds as \`Retry-After\` says: after that, you are admitted again. The refused request cost nothing.${areBanned ? strike : ''}`,
    ],
    [
      '`429 key_banned`',
      areBanned ? ban : 'The API’s operator has banned your key. Wait for `Retry-After`.',
    ],
    [
      '`429 too_many_at_once`',
      'Too many of your requests are in flight. Send the next one after an answer.',
    ],
    ['`410 gone`', 'The operation was removed. `Link` says what to use instead.'],
    [
      '`502`, `503`, `504`',
      'The API is in trouble, or out of reach. Try again later, after `Retry-After` where it is given. Only repeat a request that may have succeeded if that does no harm.',
    ],
  ]
}

/** The strikes that ban a key: "60 (free) or 300 (pro) strikes". Where a key brings its own limits, its standing tells them. */
function strikesText(plans: Terms['plans']): string {
  const known = plans.flatMap(({ name, strikesToBan }) =>
    strikesToBan === null ? [] : [{ name, strikes: count(strikesToBan) }],
  )
  const numbers = new Set(known.map(({ strikes }) => strikes))
  if (numbers.size === 0) return 'Too many strikes'
  if (numbers.size === 1) return `${known[0]?.strikes} strikes`
  const each = known.map(({ name, strikes }) => `${strikes} (${name})`)
  return `${new Intl.ListFormat('en', { type: 'disjunction' }).format(each)} strikes`
}
