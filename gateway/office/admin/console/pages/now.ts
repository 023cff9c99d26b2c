import { useEffect, useRef, useState } from 'preact/hooks'
import { Latency, summaryOf, Traffic } from '../charts/traffic.ts'
import { Choice } from '../controls.ts'
import { useData, useMayAll, type Dated } from '../data.ts'
import { clock } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { useLive, type Live } from '../live.ts'
import { aged, column, FirstRows, keyLink, page, time, type Column } from '../page-parts.ts'
import type { BanView } from '../../../../front/limits/views.ts'
import type { LiveRange, Snapshot } from '../../../live/snapshot.ts'
import { failuresOf, routesOf, strip, troublesOf } from './now-summary.ts'
import { refusedKeys, Refusals } from './refusals-now.ts'
import { SwapBanners } from './swap.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { KeyPage } from '../../../operations/keys/list.ts'
import { MakeKey } from './make-key.ts'

/** How often a reader of the screen hears how it goes. */
const toldEveryMs = 10_000

/** The traffic of all gateways at this moment; the id of a plan leaves only its keys and refusals. */
export function Now({ id: plan }: { id?: string }) {
  const [range, setRange] = useState<LiveRange>('15m')
  const [isPaused, setPaused] = useState(false)
  const live = useLive(range, isPaused)
  const bans = useData<readonly BanView[]>(isPaused ? undefined : '/admin/bans', 5_000)
  return page(
    'Now',
    'tollgate now',
    null,
    html`
      <div class="tools">
        <${Choice}
          label="Range"
          value=${range}
          options=${[
            ['15m', '15 minutes'],
            ['day', 'a day'],
          ]}
          choose=${setRange}
        />
        <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>
          ${isPaused ? 'Resume' : 'Pause'}
        </button>
        ${isPaused && live.data && html`<p class="quiet">Paused at ${clock(live.data.snapshot.time)} UTC</p>`}
        ${
          plan !== undefined &&
          html`<p class="chip">
            Keys and refusals of the plan <b>${plan}</b> only. <a href="#/now">Show all</a>
          </p>`
        }
      </div>
    `,
    html`<${SwapBanners} />`,
    html`<${FirstSteps} isQuiet=${live.data?.snapshot.range?.sums.requests === 0} />`,
    aged(live, (data) => figures(data, bans, range, plan)),
    html`<${Spoken} live=${live.data} range=${range} />`,
  )
}

type Bans = Dated<readonly BanView[]>

function figures({ snapshot, rows }: Live, bans: Bans, range: LiveRange, plan?: string): Child {
  const endAt = Math.floor(Date.parse(snapshot.time) / 1_000)
  const { sums } = snapshot.range ?? { sums: snapshot.lastMinute }
  const sinceAt = Math.floor(Date.parse(snapshot.range?.since ?? snapshot.time) / 1_000)
  const data = { range, rows, sums, endAt, sinceAt }
  return html`
    ${troublesOf(snapshot)} ${strip(snapshot.lastMinute)}
    <${Traffic} figures=${data} />
    ${
      sums.requests > 0 &&
      html`<div class="columns">
        <${Latency} figures=${data} title="Gateway overhead, ms" of="own" />
        <${Latency} figures=${data} title="Backends’ time, ms" of="upstream" />
      </div>`
    }
    ${failuresOf(snapshot)} ${routesOf(snapshot)}
    <${Refusals} refusals=${snapshot.refusals} plan=${plan} />
    <div class="columns">
      <section>${refusedKeys(snapshot, plan)}</section>
      <section>${bansOf(bans)} ${targets(snapshot)}</section>
    </div>
  `
}

function targets({ targets: all }: Snapshot): Child {
  if (all.length === 0) return null
  return html`
    <h2>Targets</h2>
    <ul class="plain targets">
      ${all.map(
        ({ upstream, target, healthy, unhealthyAt }) => html`
          <li>
            <span class=${`state ${healthy ? 'active' : 'banned'}`}
              >${healthy ? 'healthy' : `unhealthy at ${unhealthyAt.join(', ')}`}</span
            >
            <a href="#/backends">${upstream}</a> <code>${target}</code>
          </li>
        `,
      )}
    </ul>
  `
}

function bansOf(bans: Bans): Child {
  return html`
    <h2>Banned now</h2>
    ${aged(bans, (all) => {
      if (all.length === 0) return html`<p class="quiet">No key is banned.</p>`
      return html`<${FirstRows}
        caption="Keys that are banned"
        columns=${banColumns}
        rows=${all}
        keyOf=${({ id }: BanView) => id}
      />`
    })}
  `
}

const banColumns: readonly Column<BanView>[] = [
  column('Key', ({ id, name }) => keyLink(id, name || id)),
  column('Until', ({ until }) => time(until)),
]

/** The figures in a sentence, for who listens: not more often than one can listen. */
function Spoken({ live, range }: { live: Live | undefined; range: LiveRange }) {
  const [sentence, setSentence] = useState('')
  const isThere = live !== undefined
  useEffect(() => {
    if (!live?.snapshot.range) return
    setSentence(summaryOf(range, live.snapshot.range.sums))
  }, [isThere, range, Math.floor(Date.now() / toldEveryMs)])
  return html`<p class="unseen" role="status">${sentence}</p>`
}

/** The way to the first request, for a gateway whose keys were never used; `isQuiet`: nothing has come lately. */
function FirstSteps({ isQuiet }: { isQuiet: boolean }) {
  const section = useRef<HTMLElement>(null)
  const mayAll = useMayAll()
  const path = (of: string): string | undefined => (isQuiet ? `/admin/${of}` : undefined)
  const keys = useData<KeyPage>(path('keys?limit=20'), 5_000)
  // A gateway that has just begun may answer 503 at first.
  const running = useData<RunningConfig>(path('config'), 5_000)
  if (!keys.data || !running.data) return null
  const { keys: some, next } = keys.data
  const { config } = running.data
  // More keys were made by people who know how.
  const isUsed = next !== null || some.some(({ lastUsedAt }) => lastUsedAt) || config.jwt.length > 0
  // A token that is shown stays until its dialog is closed.
  if ((isUsed || !isQuiet) && !section.current?.querySelector('dialog[open]')) return null
  const line = `curl ${firstUrl(config)} -H "Authorization: Bearer TOKEN"`
  return html`
    <section class="card" ref=${section}>
      <h2>First steps</h2>
      <ol>
        <li>
          <p>
            ${mayAll ? html`<${MakeKey} made=${keys.reload} />` : 'Ask for a key'}
            ${some.length > 0 && html` or take a token that <code>npm start</code> has printed`}
          </p>
        </li>
        <li>
          <p>Try it, with the token in place of TOKEN:</p>
          <pre tabindex="0">${line}</pre>
          <p><${CopyButton} text=${line} label="Copy" /></p>
        </li>
        <li><p>See it here, within a second.</p></li>
      </ol>
    </section>
  `
}

/** An address of the API as a program on this machine reaches it. */
function firstUrl({ listen, routes }: RunningConfig['config']): string {
  const { port, tls } = listen
  const path = routes[0]?.path ?? '/'
  // The animal store's own route leads nowhere without more.
  const first = path === '/v1/*' ? '/v1/pets' : path.replace('*', '')
  return `http${tls ? 's' : ''}://${location.hostname}:${port}${first}`
}
