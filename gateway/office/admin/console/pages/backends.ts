import { useRef, useState } from 'preact/hooks'
import { ask, type Session } from '../api.ts'
import type { KeptComparison } from '../comparison.ts'
import { useData } from '../data.ts'
import { costText, count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { aged, failure, page, table, time } from '../page-parts.ts'
import { routesTo } from '../settings.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { CheckedUpstream } from '../../../operations/upstream/check.ts'
import type { Finding } from '../../../compare/probe.ts'
import type { TargetView, UpstreamsView } from '../../../operations/upstream/list.ts'
import { useWork } from '../button-work.ts'
import { CompareBackend } from './compare-backend.ts'
import { DescribeSwap } from './describe-swap.ts'
import { Swaps } from './swap.ts'

type Props = Readonly<{ session: Session; comparison: KeptComparison }>

/** The targets behind this gateway, and checks of a would-be one. */
export function Backends({ session, comparison }: Props) {
  const upstreams = useData<UpstreamsView>('/admin/upstreams', 2_000)
  const config = useData<RunningConfig>('/admin/config')
  return page(
    'Backends',
    'tollgate upstream list · tollgate upstream check|compare URL · tollgate upstream swap status',
    html`<${Swaps} session=${session} />`,
    aged(upstreams, (all) => {
      const names = Object.entries(all)
      if (names.length === 0) return html`<p class="quiet">The configuration has no upstreams.</p>`
      return names.map(
        ([name, targets]) => html`
          <h2>${name}</h2>
          ${config.data && pathsOf(routesTo(name, config.data.config))} ${targetsOf(name, targets)}
        `,
      )
    }),
    session.role !== 'read' && html`<${Check} />`,
    html`<${CompareBackend}
      session=${session}
      comparison=${comparison}
      upstreams=${Object.keys(upstreams.data ?? {})}
    />`,
    html`<${DescribeSwap} session=${session} upstreams=${Object.keys(upstreams.data ?? {})} />`,
  )
}

function pathsOf(routes: ReturnType<typeof routesTo>): Child {
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

function costOf(cost: ReturnType<typeof routesTo>[number]['cost']): string {
  return typeof cost === 'number' ? costText(cost) : costText(cost.estimate, cost)
}

type Row = readonly [url: string, target: TargetView]

function targetsOf(name: string, targets: UpstreamsView[string]): Child {
  const rows = Object.entries(targets)
  if (rows.length === 0) return html`<p class="quiet">No request has asked it yet.</p>`
  return table(
    `Targets of ${name}, as this gateway has seen them since its start`,
    [
      { name: 'Target', cell: ([url]: Row) => html`<code>${url}</code>` },
      { name: 'Health', cell: ([, target]: Row) => healthOf(target) },
      { name: 'Weight', isNumber: true, cell: ([, { weight }]: Row) => weight },
      { name: 'Signed', cell: ([, { signed }]: Row) => (signed ? 'yes' : 'no') },
      { name: 'Under way', isNumber: true, cell: ([, { underWay }]: Row) => count(underWay) },
      { name: 'Answers', cell: ([, { answers }]: Row) => answersOf(answers) },
      {
        name: 'p50, p95',
        isNumber: true,
        cell: ([, { p50Ms, p95Ms }]: Row) => (p50Ms === null ? '–' : `${p50Ms}, ${p95Ms} ms`),
      },
      {
        name: 'Last failure',
        cell: ([, { lastFailure }]: Row) =>
          lastFailure
            ? html`${time(lastFailure.at)} ${lastFailure.cause}`
            : html`<span class="quiet">none</span>`,
      },
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
    <div class="quiet">since ${time(since)}</div>`
}

/** Compares another backend with the present one, by the upstream's probes. */
function Check() {
  const field = useRef<HTMLInputElement>(null)
  const [checked, setChecked] = useState<CheckedUpstream>()
  const { isBusy, error, run } = useWork()
  const check = async (event: Event): Promise<void> => {
    event.preventDefault()
    await run(async () => {
      setChecked(undefined)
      const url = field.current?.value ?? ''
      setChecked(await ask<CheckedUpstream>('POST', '/admin/upstreams/check', { url }))
    })
  }
  return html`
    <section class="card">
      <h2>Another backend</h2>
      <p>
        Sends the probes of the configuration to it and to the present one, and lists what would
        break for callers. It changes nothing.
      </p>
      <form class="tools" onSubmit=${(event: Event) => void check(event)}>
        <label
          >Address <input ref=${field} type="url" required placeholder="http://10.0.0.9:8090"
        /></label>
        <button class="go" disabled=${isBusy}>${isBusy ? 'Checking …' : 'Check'}</button>
      </form>
      ${error !== undefined && failure({ message: error })}
      ${checked && html`<${Findings} checked=${checked} />`}
    </section>
  `
}

function Findings({ checked: { fit, findings } }: { checked: CheckedUpstream }) {
  const names = [...new Set(findings.flatMap((finding) => Object.keys(finding)))]
  return html`
    <p class=${`banner ${fit ? 'good' : 'bad'}`} role="status">
      ${fit ? 'Nothing would break.' : 'It would break something for callers.'}
    </p>
    ${table(
      'What was found',
      names.map((name) => ({
        name,
        cell: (finding: Finding) => textOf(Reflect.get(finding, name)),
      })),
      findings,
    )}
  `
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('; ')
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}
