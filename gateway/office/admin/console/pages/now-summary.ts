import { failedOf, percent, refusedOf, sides } from '../charts/outcomes.ts'
import { rate } from '../charts/traffic.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { column, numeric, overMark, requestLink, table, time, type Column } from '../page-parts.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'
import type { Snapshot } from '../../../live/snapshot.ts'

/** The troubles of this moment, each with a way to more of it. */
export function troublesOf({ gateways, store, configs, incidents }: Snapshot): Child {
  const { asked, told } = gateways
  const refusals = configs.flatMap((config) => config.refusals)
  return html`
    ${incidents.map(
      ({ upstream, since, cause }) => html`
        <p class="banner bad" role="alert">
          ${upstream}: no healthy target since ${time(since)} ${`(${cause}). `}
          <a href="#/backends">See the targets</a>
        </p>
      `,
    )}
    ${
      told < asked &&
      html`<p class="banner" role="status">
        ${told} of ${asked} gateways reporting: the figures lack the others.
      </p>`
    }
    ${
      !store.reachable &&
      html`<p class="banner bad" role="alert">
        The store is out of reach of ${store.without.join(', ')}: requests are decided as${' '}
        <code>store.whenUnreachable</code> says, and other gateways aren’t heard.
      </p>`
    }
    ${
      configs.length > 1 &&
      html`<p class="banner" role="status">
        The gateways run ${configs.length} different configurations.${' '}
        <a href="#/configuration">See which</a>
      </p>`
    }
    ${refusals.map(
      ({ gateway, mistake }) => html`
        <p class="banner bad" role="alert">
          ${gateway} refuses its current file: ${mistake}${' '}
          <a href="#/configuration">See the file</a>
        </p>
      `,
    )}
  `
}

type Failure = Snapshot['failures'][number]

/** The failures of the last 15 minutes, each cause once. */
export function failuresOf({ failures }: Snapshot): Child {
  if (failures.length === 0) return null
  return html`
    <h2>Failures by cause</h2>
    ${table('15 minutes, most first; the time links to the newest', failureColumns, failures, ({ upstream, reason, status }) => `${upstream} ${reason} ${status}`)}
  `
}

const failureColumns: readonly Column<Failure>[] = [
  column('Newest', ({ id, last }) => requestLink(id, last)),
  column('Why', ({ sentence }) => html`<div class="why">${sentence}</div>`),
  column('Failed by', ({ side }) => sides.get(side)),
  numeric('Times', (failure) => count(failure.count)),
  column('Status', ({ status }) => status),
]

type Route = Snapshot['routes'][number]

/** The requests of the last 15 minutes by route. */
export function routesOf({ routes }: Snapshot): Child {
  if (routes.length === 0) return null
  return html`
    <h2>Routes</h2>
    ${table('15 minutes, failing routes first', routeColumns, routes, ({ route }) => route, 'tall')}
  `
}

const routeColumns: readonly Column<Route>[] = [
  column('Route', ({ route }) => (route === 'none' ? 'no route' : html`<code>${route}</code>`)),
  numeric('Requests', ({ requests }) => count(requests)),
  shareColumn('Failed', 'failed'),
  shareColumn('Refused', 'refused'),
  numeric('p50, ms', ({ p50 }) => count(p50)),
  numeric('p99, ms', ({ p99, requests }) => [count(p99), overMark('upstream', p99, requests)]),
]

function shareColumn(name: string, part: 'refused' | 'failed'): Column<Route> {
  return numeric(name, ({ requests, ...route }) => [
    percent(route[part], requests),
    overMark(part, route[part] / requests, requests),
  ])
}

/** The last minute in five numbers; those over their marks say so. */
export function strip(sums: SumsView): Child {
  const { requests, failed } = sums
  const [refused, allFailed] = [refusedOf(sums), failedOf(sums)]
  const bySide = [...sides].flatMap(([side, name]) =>
    failed[side] > 0 ? [`${name} ${count(failed[side])}`] : [],
  )
  const times = (name: string, of: 'own' | 'upstream'): Tile => {
    const latency = sums[of]
    if (!latency) return [name, '–']
    const { p50, p99, count: requests } = latency
    return [name, `p50 ${p50} ms`, `p99 ${p99} ms`, overMark(of, p99, requests)]
  }
  const share = (name: string, of: 'refused' | 'failed', part: number, more: string): Tile => {
    return [name, percent(part, requests), more, overMark(of, part / requests, requests)]
  }
  const tiles: readonly Tile[] = [
    ['Requests', `${rate(requests / 60)} a second`, `${count(requests)} in the last minute`],
    share('Refused', 'refused', refused, `${count(refused)} requests`),
    share('Failed', 'failed', allFailed, bySide.join(', ') || '0 requests'),
    times('Gateway overhead', 'own'),
    times('Backends’ time', 'upstream'),
  ]
  return html`
    <dl class="strip">
      ${tiles.map(
        ([name, value, more, mark]) => html`
          <div class="tile">
            <dt>${name}</dt>
            <dd><b>${value}</b> <span class="quiet">${more}</span>${mark}</dd>
          </div>
        `,
      )}
    </dl>
  `
}

type Tile = readonly [name: string, value: string, more?: string, mark?: Child]
