import { useConfig, useData } from '../data.ts'
import { costText, count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  aged,
  column,
  emptyPage,
  numeric,
  page,
  table,
  time,
  toConfiguration,
} from '../page-parts.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { TargetView, UpstreamsView } from '../../../operations/upstream/list.ts'
import { AnotherBackend, type KeptMigration } from './another-backend.ts'
import { Swaps } from './swap.ts'

/** The targets behind this gateway, and the way to others and back. */
export function Backends({ migration }: { migration: KeptMigration }) {
  const upstreams = useData<UpstreamsView>('/admin/upstreams', 2_000)
  const config = useConfig()
  return page(
    'Backends',
    'tollgate upstream list · tollgate upstream check URL · tollgate upstream swap status',
    null,
    html`<${Swaps} />`,
    aged(upstreams, (all) => {
      const names = Object.entries(all)
      if (names.length === 0)
        return emptyPage('The configuration has no upstreams', toConfiguration())
      return names.map(
        ([name, targets]) => html`
          <h2>${name}</h2>
          ${config.data && pathsOf(name, config.data)} ${targetsOf(name, targets)}
        `,
      )
    }),
    html`<${AnotherBackend}
      migration=${migration}
      upstreams=${Object.keys(upstreams.data ?? {})}
    />`,
  )
}

function pathsOf(upstream: string, { config }: RunningConfig): Child {
  const routes = config.routes.filter((route) => route.upstream === upstream)
  if (routes.length === 0) return html`<p class="quiet">No route leads here.</p>`
  return html`
    <p>
      ${routes.length === 1 ? 'Route: ' : 'Routes: '}
      ${routes.map(({ path }, i) => html`${i > 0 ? ', ' : ''}<code>${path}</code>`)}
    </p>
    ${routes
      .filter(({ cost }) => cost !== 1)
      .map(({ path, cost }) => html`<p><code>${path}</code> costs ${costOf(cost)}.</p>`)}
  `
}

function costOf(cost: RunningConfig['config']['routes'][number]['cost']): string {
  return typeof cost === 'number' ? costText(cost) : costText(cost.estimate, cost)
}

type Row = readonly [url: string, target: TargetView]

function targetsOf(name: string, targets: UpstreamsView[string]): Child {
  const rows = Object.entries(targets)
  if (rows.length === 0) return html`<p class="quiet">It has had no requests yet.</p>`
  return table<Row>(
    `Targets of ${name}, as this gateway has seen them since its start`,
    [
      column('Target', ([url]) => html`<code>${url}</code>`),
      column('Health', ([, target]) => healthOf(target)),
      column('Last failure', ([, { lastFailure }]) =>
        lastFailure
          ? html`${time(lastFailure.at)} ${lastFailure.cause}`
          : html`<span class="quiet">none</span>`,
      ),
      numeric('Weight', ([, { weight }]) => weight),
      column('Signed', ([, { signed }]) => (signed ? 'yes' : 'no')),
      numeric('In flight', ([, { underWay }]) => count(underWay)),
      column('Answers', ([, { answers }]) => answersOf(answers)),
      numeric('p50, p95', ([, { p50Ms, p95Ms }]) =>
        p50Ms === null ? '–' : `${p50Ms}, ${p95Ms} ms`,
      ),
    ],
    rows,
    ([url]) => url,
  )
}

function answersOf(answers: TargetView['answers']): Child {
  const classes = Object.entries(answers)
  if (classes.length === 0) return html`<span class="quiet">none yet</span>`
  return html`<ul class="plain">
    ${classes.map(
      ([name, times]) => html`
        <li class=${name === '5xx' || name === 'none' ? 'alarming' : ''}>
          ${name === 'none' ? 'without an answer' : name}: ${count(times)}
        </li>
      `,
    )}
  </ul>`
}

function healthOf({ healthy, refusesSignature, since }: TargetView): Child {
  if (refusesSignature) return html`<span class="state banned">refuses our signature</span>`
  return html`<span class=${`state ${healthy ? 'active' : 'banned'}`}
      >${healthy ? 'healthy' : 'unhealthy'}</span
    >
    <div class="quiet">${'since\u00a0'}${time(since)}</div>`
}
