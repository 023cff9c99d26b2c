import { failedOf, percent, refusedOf, sides } from '../charts/outcomes.ts'
import { rate } from '../charts/traffic.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { overMark, time } from '../page-parts.ts'
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
  const share = (part: number, name: 'refused' | 'failed'): Child =>
    overMark(name, part / requests, requests)
  const tiles: readonly Tile[] = [
    ['Requests', `${rate(requests / 60)} a second`, `${count(requests)} in the last minute`],
    [
      'Refused',
      percent(refused, requests),
      `${count(refused)} requests`,
      share(refused, 'refused'),
    ],
    [
      'Failed',
      percent(allFailed, requests),
      bySide.join(', ') || '0 requests',
      share(allFailed, 'failed'),
    ],
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
