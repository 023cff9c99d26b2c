import type { Session } from '../api.ts'
import type { KeptComparison } from '../comparison.ts'
import { fieldText } from '../controls.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { failure, table } from '../page-parts.ts'
import type { ComparisonView } from '../../../compare/comparison-view.ts'
import type { RouteView } from '../../../compare/route-views.ts'

type Props = Readonly<{
  session: Session
  comparison: KeptComparison
  /** The names of the upstreams. */
  upstreams: readonly string[]
}>

/** Compares another backend with the present one, by a share of the real requests: the form, and the live table. */
export function CompareBackend({ session, comparison, upstreams }: Props) {
  const { settings, view, isRunning, isStopped, error, begin, stop } = comparison
  const submit = (event: Event): void => {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    const [url, upstream] = [fieldText(form, 'url'), fieldText(form, 'upstream')]
    const asked = { url, for: fieldText(form, 'for'), share: fieldText(form, 'share') }
    begin(upstream === '' ? asked : { ...asked, upstream })
  }
  if (session.role !== 'all') return null
  return html`
    <section class="card">
      <h2>Another backend, by real requests</h2>
      <p>
        Sends a share of the GET and HEAD requests to it as well, each after its caller has the
        answer, and compares. A GET that has effects has them twice if both share a database. The
        new backend sees callers’ ids, paths and queries. It goes on while you look at other pages,
        and ends when this tab is closed.
      </p>
      <form class="tools" onSubmit=${submit}>
        <label
          >New backend
          <input
            name="url"
            type="url"
            required
            defaultValue=${settings?.url ?? ''}
            placeholder="http://10.0.0.9:8090"
          />
        </label>
        ${upstreams.length > 1 && upstreamChoice(upstreams, settings?.upstream)}
        ${text('share', 'Share', settings?.share ?? '5%')}
        ${text('for', 'For', settings?.for ?? '10m')}
        <button class="go" disabled=${isRunning}>${isRunning ? 'Comparing …' : 'Compare'}</button>
        ${isRunning && html`<button type="button" onClick=${stop}>Stop</button>`}
      </form>
      ${error !== undefined && failure({ message: error })}
      ${view && html`<${Result} view=${view} isStopped=${isStopped} />`}
    </section>
  `
}

function upstreamChoice(upstreams: readonly string[], chosen: string | undefined): Child {
  return html`
    <label
      >Upstream
      <select name="upstream">
        ${upstreams.map((name) => html`<option value=${name} selected=${name === chosen}>${name}</option>`)}
      </select>
    </label>
  `
}

function text(name: string, label: string, value: string): Child {
  return html`
    <label
      >${label}
      <input class="short" name=${name} required defaultValue=${value} autocomplete="off" />
    </label>
  `
}

function Result({ view, isStopped }: { view: ComparisonView; isStopped: boolean }) {
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
      'What was compared, by route',
      [
        { name: 'Route', cell: ({ route }: RouteView) => html`<code>${route}</code>` },
        { name: 'Compared', isNumber: true, cell: ({ compared }) => count(compared) },
        { name: 'The same', isNumber: true, cell: ({ same }) => count(same) },
        { name: 'Now: p50, p95', isNumber: true, cell: (each) => times(each.presentMs) },
        { name: 'Then', isNumber: true, cell: (each) => times(each.wouldBeMs) },
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
  return `${percent} % of the requests at ${gateways.join(', ')}${rest}.${left}`
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
