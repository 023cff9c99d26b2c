import { costText, date } from '../../http/page/format.ts'
import type { Terms } from '../terms.ts'
import {
  isLimited,
  windowsWhere,
  type LimitsByName,
  type PageWindow,
} from '../../http/page/windows.ts'
import { html, type Child } from '../../http/page/html.ts'
import { gatewayNowMs } from '../../http/page/utc.ts'
import type { Operation } from './openapi.ts'
import { line } from './prose.ts'

/** Points, with the most if the answer tells the cost, and the scopes that each method needs. */
export type Cost = Pick<Terms['routes'][number], 'cost' | 'atMost' | 'scopes'>

export type Deprecation = Terms['deprecations'][number]

/** What a request costs, as its route has it; `undefined` for a path without one, which the gateway answers itself. */
export function costOf(terms: Terms, method: string, path: string): Cost | undefined {
  const { quotaPath, usagePath, ticketPath } = terms
  if ([quotaPath, usagePath, ticketPath].includes(path)) return { cost: 0 }
  const fitting = terms.routes.filter(
    (route) => route.methods.includes(method) && isBelow(route.path, path),
  )
  return [...fitting].sort((one, other) => rank(other.path) - rank(one.path))[0]
}

/** The same in words. */
export function costIn({ cost, atMost }: Cost): string {
  return costText(cost, atMost === undefined ? undefined : { atMost })
}

/** The deprecation of an operation; HEAD goes with GET. */
export function deprecationOf(terms: Terms, method: string, path: string): Deprecation | undefined {
  const listed = method === 'HEAD' ? 'GET' : method
  return terms.deprecations.find(({ operation }) => {
    const [operationMethod = '', pattern = ''] = operation.split(' ')
    return operationMethod === listed && isBelow(pattern, path)
  })
}

/** Whether a path of the document fits a pattern of the configuration, segment by segment; names don't matter. */
function isBelow(pattern: string, path: string): boolean {
  const [wanted, segments] = [pattern.split('/'), path.split('/')]
  if (wanted.at(-1) === '*') {
    const fixed = wanted.slice(0, -1)
    return segments.length >= wanted.length && fixed.every((part, i) => fits(part, segments[i]))
  }
  return wanted.length === segments.length && wanted.every((part, i) => fits(part, segments[i]))
}

function fits(part: string, segment: string | undefined): boolean {
  return part.startsWith('{') || part === segment
}

/** An exact path before one with names, and that before everything below. */
function rank(path: string): number {
  return path.split('/').reduce((sum, part) => {
    return sum * 3 + (part === '*' ? 0 : part.startsWith('{') ? 1 : 2)
  }, 0)
}

/** The windows of the plans in force. */
export function windowsIn({ plans }: Terms): readonly PageWindow[] {
  return windowsOf(withIncluded(plans))
}

/** The windows of the plans in force and of their operations. */
export function allWindowsIn({ plans }: Terms): readonly PageWindow[] {
  return windowsOf([...withIncluded(plans), ...plans.flatMap(({ operations }) => operations)])
}

/** Plans, and the windows in which something is included and more is metered. */
function withIncluded(plans: Terms['plans']) {
  return [...plans, ...plans.map(({ included = null }) => ({ limits: included }))]
}

function windowsOf(
  all: readonly Readonly<{ limits: LimitsByName | null }>[],
): readonly PageWindow[] {
  return windowsWhere((window) =>
    all.some(({ limits }) => limits !== null && isLimited(limits, window)),
  )
}

export function haveOperations({ plans }: Terms): boolean {
  return plans.some(({ operations }) => operations.length > 0)
}

/** Such as "a minute begins at second 0, and a day at midnight". */
export function beginnings(all: readonly PageWindow[]): string {
  const windows = all.filter(({ begins }) => begins !== undefined)
  const clauses = windows.map(
    ({ each, begins }, i) => `${each} ${i === 0 ? 'begins ' : ''}${begins}`,
  )
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(clauses)
}

/** Such as "the minute or the day". */
export function oneOf(all: readonly PageWindow[]): string {
  const names = all.map(({ name }) => `the ${name}`)
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(names)
}

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
