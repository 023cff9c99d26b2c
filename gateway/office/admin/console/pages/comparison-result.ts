import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { numeric, table } from '../page-parts.ts'
import type { ComparisonView } from '../../../compare/comparison-view.ts'
import type { RouteView } from '../../../compare/route-views.ts'

type Props = Readonly<{ view: ComparisonView; isStopped: boolean }>

/** What real requests have told of another backend so far, by route. */
export function ComparisonResult({ view, isStopped }: Props) {
  const { summary, fit, ended, requests, seconds, forSeconds, routes } = view
  const isOver = isStopped || ended !== null
  const isBroken = requests.same < requests.compared
  const mood = isBroken || (isOver && !fit && ended === 'failures') ? 'bad' : fit ? 'good' : ''
  return html`
    <p class=${`banner ${mood}`} role=${isOver ? 'status' : undefined}>
      ${summary}${isStopped && ' You have stopped it.'}
    </p>
    <p class="quiet">
      ${count(Math.floor(seconds))} of ${count(forSeconds)} seconds. ${scopeOf(view)}
    </p>
    ${table(
      'Compared requests, by route',
      [
        { name: 'Route', cell: ({ route }: RouteView) => html`<code>${route}</code>` },
        numeric('Compared', ({ compared }: RouteView) => count(compared)),
        numeric('The same', ({ same }: RouteView) => count(same)),
        numeric('Now: p50, p95', ({ presentMs }: RouteView) => times(presentMs)),
        numeric('New', ({ wouldBeMs }: RouteView) => times(wouldBeMs)),
        { name: 'Would break', cell: ({ breaks }) => breaksOf(breaks) },
      ],
      routes,
      ({ route }) => route,
    )}
  `
}

function scopeOf({ share, gateways, fleet, requests: { busy, unfit } }: ComparisonView): string {
  const others = fleet - gateways.length
  const rest = others > 0 ? ` (${count(others)} of the store took no part)` : ''
  const left = busy + unfit > 0 ? ` ${count(busy + unfit)} could not be compared.` : ''
  const percent = Math.round(share * 1_000_000) / 10_000
  return `${percent} % of requests at ${gateways.join(', ')}${rest}.${left}`
}

function times(percentiles: RouteView['presentMs']): string {
  return percentiles ? `${percentiles.p50}, ${percentiles.p95} ms` : '–'
}

function breaksOf(breaks: RouteView['breaks']): Child {
  if (breaks.length === 0) return html`<span class="quiet">nothing</span>`
  return html`<ul class="plain">
    ${breaks.map(
      ({ what, times, examples }) => html`
        <li key=${what}>
          ${what}: ${count(times)}
          ${examples.map(
            ({ request, method, path }) =>
              html`<div class="quiet">
                e.g. <code>${method} ${path}</code>, <code>${request}</code>
              </div>`,
          )}
        </li>
      `,
    )}
  </ul>`
}
