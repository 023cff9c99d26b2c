import { withCommas } from '../../../shared/commas.ts'
import { timeText } from '../../../shared/times.ts'
import type { Config, PortalSettings, Route } from '../config/config.ts'
import { pageDocuments } from '../http/own-paths.ts'
import { byShape, pathFinder } from '../http/path-finder.ts'
import { operationsOf, section } from '../http/page/sections.ts'
import { limitedIn, type Limits } from '../limits/limits.ts'
import { keyHeaderOf } from './terms.ts'

/** The most characters of one text of the document. */
const longest = 300

const methods = ['get', 'put', 'post', 'delete', 'patch', 'query']

/** What programs read that write programs: operations, limits, how to wait and what ends, in Markdown. `openapi` is the callers' document. */
export function llmsText(
  config: Config,
  portal: PortalSettings,
  prefix: string,
  openapi: string,
): string {
  const document = section(JSON.parse(openapi))
  const { title, summary, description } = section(document['info'])
  const at = (name: string): string => `${prefix}${portal.path}/${name}`
  const { name, before } = keyHeaderOf(config)
  return [
    `# ${oneLine(title) || 'API'}`,
    `> ${oneLine(summary) || oneLine(description) || 'An API behind Tollgate.'}`,
    `The whole document is at [OpenAPI](${at(pageDocuments.openapi)}), the terms as JSON at [terms](${at(pageDocuments.terms)}).`,
    '## Asking',
    `Send the key in each request: \`${name}: ${before}KEY\`. Refusals of the gateway are JSON, \`{ "code", "message", "status" }\`: go by \`code\`, show \`message\`.`,
    ...listed('## Operations', operationsIn(document, config)),
    ...listed('## Limits', limitsIn(config)),
    '## Waiting',
    waiting,
    ...[config.quotaPath, config.usagePath].flatMap((path) =>
      path === undefined
        ? []
        : [`How a key stands: \`GET ${prefix}${path}\`, which costs nothing.`],
    ),
    ...listed('## Deprecated', endsIn(config)),
  ]
    .join('\n\n')
    .concat('\n')
}

const waiting = [
  '- On 429, wait as many seconds as `Retry-After` says, with all calls of this key, then go on: who waits that long is let in. Of `too_many_at_once` it is a guess.',
  '- Don’t try again earlier. Requests after a refusal count towards a ban (`key_banned`), which `Retry-After` tells as well.',
  '- `X-RateLimit-Remaining` is what is left in the tightest window, until `X-RateLimit-Reset` (a Unix second). Slow down before it is 0.',
  '- On 503, wait as `Retry-After` says. 401 and 403 don’t go away by waiting. 502 and 504 come from the API: repeat only what may be done twice.',
].join('\n')

function listed(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, lines.map((line) => `- ${line}`).join('\n')]
}

function operationsIn(document: Readonly<Record<string, unknown>>, { routes }: Config): string[] {
  const find = pathFinder(byShape(routes).map((alike) => ({ path: alike[0]?.path ?? '', alike })))
  return Object.entries(section(document['paths'])).flatMap(([path, item]) =>
    operationsOf(section(item), methods).map(([method, operation]) => {
      const verb = method.toUpperCase()
      const route = find(path)?.alike.find((each) => each.methods.includes(verb))
      const what = oneLine(operation['summary']) || oneLine(operation['description'])
      const told = [
        ...(what === '' ? [] : [`${what.replace(/\.$/, '')}.`]),
        ...(route ? needsOf(route, verb) : []),
        ...(operation['deprecated'] === true ? ['Deprecated.'] : []),
      ]
      return [`\`${verb} ${path}\``, ...(told.length > 0 ? [told.join(' ')] : [])].join(': ')
    }),
  )
}

function needsOf({ cost, answerCost, scopes }: Route, method: string): string[] {
  const needed = scopes?.get(method) ?? []
  const most = answerCost ? `, at most ${withCommas(answerCost.atMost)}, as its answer tells` : ''
  return [
    ...(cost === 1 && !answerCost ? [] : [`Costs ${withCommas(cost)} points${most}.`]),
    ...(needed.length > 0 ? [`Needs the scope ${needed.join(' and ')}.`] : []),
  ]
}

function limitsIn({ plans }: Config): string[] {
  return [...plans.values()].map(({ name, limits, operations = [] }) => {
    const own = limits === 'custom' ? 'as agreed for each key' : limitsText(limits)
    const parts = operations.map((each) => `${each.name}: ${limitsText(each.limits)}`)
    return `\`${name}\`: ${[own, ...parts].join('; ')}`
  })
}

/** Limits in words, the shortest window first. */
function limitsText(limits: Limits): string {
  const ofWindows = [...limitedIn(limits)]
    .reverse()
    .map(
      ({ window, limit }) =>
        `${withCommas(limit)} points ${window.name === 'hour' ? 'an' : 'a'} ${window.name}`,
    )
  const { atOnce } = limits
  const all = [...ofWindows, ...(atOnce === undefined ? [] : [`${atOnce} at once`])]
  return all.join(', ') || 'unlimited'
}

function endsIn({ deprecations }: Config): string[] {
  return deprecations.map(({ operation, sunsetMs, replacement }) => {
    const ends = sunsetMs === undefined ? '' : `, until ${timeText(sunsetMs)}`
    const instead = replacement === undefined ? '' : `: use ${replacement}`
    return `\`${operation}\`${ends}${instead}`
  })
}

/** A text of the document in one line, cut where it is long. */
function oneLine(value: unknown): string {
  if (typeof value !== 'string') return ''
  const text = value.replace(/\s+/g, ' ').trim()
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
