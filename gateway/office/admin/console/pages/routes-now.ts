import { percent } from '../charts/outcomes.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { numeric, overMark, table, type Column } from '../page-parts.ts'
import type { Snapshot } from '../../../live/snapshot.ts'

type Route = Snapshot['routes'][number]

/** The requests of the last 15 minutes by route. */
export function routesOf({ routes }: Snapshot): Child {
  if (routes.length === 0) return null
  return html`
    <h2>Routes</h2>
    ${table('15 minutes, failing routes first', columns, routes, ({ route }) => route, true)}
  `
}

const columns: readonly Column<Route>[] = [
  {
    name: 'Route',
    cell: ({ route }) => (route === 'none' ? 'no route' : html`<code>${route}</code>`),
  },
  numeric('Requests', ({ requests }) => count(requests)),
  share('Failed', 'failed'),
  share('Refused', 'refused'),
  numeric('p50, ms', ({ p50 }) => count(p50)),
  numeric('p99, ms', ({ p99, requests }) => [count(p99), overMark('upstream', p99, requests)]),
]

function share(name: string, part: 'refused' | 'failed'): Column<Route> {
  return numeric(name, ({ requests, ...route }) => [
    percent(route[part], requests),
    overMark(part, route[part] / requests, requests),
  ])
}
