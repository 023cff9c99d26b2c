import { percent, refusedOf } from '../charts/outcomes.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'
import type { Picture } from '../../../live/picture.ts'

/** The troubles of this moment, each with a way to more of it. */
export function troublesOf({ gateways, store, configs }: Picture): Child {
  const { asked, told } = gateways
  const refusals = configs.flatMap((config) => config.refusals)
  return html`
    ${
      told < asked &&
      html`<p class="banner" role="status">
        ${told} of ${asked} gateways have told: the figures lack the others.
      </p>`
    }
    ${
      !store.reachable &&
      html`<p class="banner bad" role="alert">
        The store is out of reach of ${store.without.join(', ')}: requests are decided as
        <code>store.whenUnreachable</code> says, and other gateways aren’t heard.
      </p>`
    }
    ${
      configs.length > 1 &&
      html`<p class="banner" role="status">
        The gateways go by ${configs.length} different configurations.
        <a href="#/configuration">See which</a>
      </p>`
    }
    ${refusals.map(
      ({ gateway, mistake }) => html`
        <p class="banner bad" role="alert">
          ${gateway} refuses its file as it is now: ${mistake}
          <a href="#/configuration">See the file</a>
        </p>
      `,
    )}
  `
}

/** The last minute in five numbers. */
export function strip(sums: SumsView): Child {
  const { requests, failed, backendFailed, own, upstream } = sums
  const times = (latency: SumsView['own']): [value: string, more: string] =>
    latency ? [`p50 ${latency.p50} ms`, `p99 ${latency.p99} ms`] : ['–', '']
  const tiles: readonly (readonly [name: string, value: string, more: string, isBad?: boolean])[] =
    [
      ['Requests', `${perSecond(requests / 60)} a second`, `${count(requests)} in the last minute`],
      ['Refused', percent(refusedOf(sums), requests), `${count(refusedOf(sums))} requests`],
      [
        'Failed',
        percent(failed + backendFailed, requests),
        `${count(failed)} by us, ${count(backendFailed)} by backends`,
        failed + backendFailed > 0,
      ],
      ['Gateway overhead', ...times(own)],
      ['Backends’ time', ...times(upstream)],
    ]
  return html`
    <dl class="strip">
      ${tiles.map(
        ([name, value, more, isBad]) => html`
          <div class=${isBad ? 'tile bad' : 'tile'}>
            <dt>${name}</dt>
            <dd><b>${value}</b> <span class="quiet">${more}</span></dd>
          </div>
        `,
      )}
    </dl>
  `
}

function perSecond(rate: number): string {
  return rate > 0 && rate < 10 ? rate.toFixed(1) : count(Math.round(rate))
}
