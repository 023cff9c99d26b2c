import { withCommas } from '../../../../shared/commas.ts'
import { printable } from '../../../../shared/printable.ts'
import type { ComparisonView } from '../../compare/comparison-view.ts'
import { aligned } from '../table.ts'

/** A comparison for people: a sentence, a table by route, examples, and what is left out of it. */
export function comparisonText(view: ComparisonView): string {
  return [view.summary, routesText(view), examplesText(view), scopeText(view)]
    .filter((part) => part !== '')
    .map((part, i) => (i === 0 ? printable(part) : part))
    .join('\n\n')
}

function routesText({ routes }: ComparisonView): string {
  const rows = routes.map(({ route, compared, same, breaks, presentMs, wouldBeMs }) => [
    route,
    withCommas(compared),
    withCommas(same),
    timesText(presentMs),
    timesText(wouldBeMs),
    breaks.map(({ what, times }) => `${what} (${withCommas(times)})`).join('; ') || '-',
  ])
  const heads = ['ROUTE', 'COMPARED', 'SAME', 'NOW P50, P95', 'NEW P50, P95', 'WOULD BREAK']
  return aligned([heads, ...rows])
}

function timesText(times: ComparisonView['routes'][number]['presentMs']): string {
  return times ? `${times.p50}, ${times.p95} ms` : '-'
}

function examplesText({ routes }: ComparisonView): string {
  const rows = routes.flatMap(({ route, breaks }) =>
    breaks.flatMap(({ what, examples }) =>
      examples.map(({ request, method, path, mirrored }) => [
        ...[route, what, `${method} ${path}`, request, mirrored],
      ]),
    ),
  )
  if (rows.length === 0) return ''
  return aligned([['ROUTE', 'FOR EXAMPLE', 'REQUEST', 'ITS ID', 'AT THE NEW BACKEND'], ...rows])
}

function scopeText({ gateways, fleet, share, requests: { busy, unfit } }: ComparisonView): string {
  const others = fleet - gateways.length
  const sample = `${Math.round(share * 1_000_000) / 10_000} % of requests at ${gateways.join(', ')}`
  const rest =
    others > 0
      ? `; ${withCommas(others)} other ${others === 1 ? 'gateway' : 'gateways'} of the store took no part`
      : ''
  const left = [
    ...(busy > 0 ? [`${withCommas(busy)} because too many were in flight`] : []),
    ...(unfit > 0
      ? [
          `${withCommas(unfit)} whose answers can’t be compared (304, 412, 5xx, events, asked with cookies)`,
        ]
      : []),
  ]
  return printable(
    `Sampled: ${sample}${rest}.${left.length > 0 ? ` Left out: ${left.join(', ')}.` : ''}`,
  )
}
