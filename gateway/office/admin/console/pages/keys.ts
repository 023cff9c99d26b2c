import { useState } from 'preact/hooks'
import { query, type Session } from '../api.ts'
import { useData } from '../data.ts'
import { ago, local } from '../times.ts'
import { smallBar } from '../../../../front/http/page/bar.ts'
import { clock, count } from '../../../../front/http/page/format.ts'
import { html } from '../../../../front/http/page/html.ts'
import { windowsWhere } from '../../../../front/http/page/windows.ts'
import { aged, page, table, time, type Column } from '../page-parts.ts'
import { plansIn } from '../settings.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { KeyStanding } from '../../../operations/key-standing.ts'
import type { KeyOnPage, KeyPage } from '../../../operations/keys/list.ts'
import { Issuers } from './jwt.ts'
import { MakeKey } from './make-key.ts'

const perPage = 50

const states = ['active', 'disabled', 'expired', 'revoked']

type Props = Readonly<{ session: Session; search: string; list: (text: string) => void }>

/** Keys by name; `search` leaves those with a text, and `list` searches another one. */
export function Keys({ session, search, list }: Props) {
  const [state, setState] = useState('')
  const [plan, setPlan] = useState('')
  const config = useData<RunningConfig>('/admin/config')
  const plans = config.data ? plansIn(config.data.config) : []
  const [after, setAfter] = useState<readonly string[]>([])
  const path = `/admin/keys${query({ search, state, plan, standing: 'true', limit: perPage, after: after.at(-1) })}`
  const keys = useData<KeyPage>(path, 5_000)
  const filter = (
    label: string,
    value: string,
    all: string,
    options: readonly string[],
    choose: (option: string) => void,
  ) => html`
    <label
      >${label}
      <select
        value=${value}
        onChange=${(event: Event) => {
          choose((event.target as HTMLSelectElement).value)
          setAfter([])
        }}
      >
        <option value="">${all}</option>
        ${options.map((each) => html`<option value=${each}>${each}</option>`)}
      </select>
    </label>
  `
  return page(
    'Keys',
    'tollgate keys list --search TEXT · tollgate explain ID',
    html`
      <div class="tools">
        ${filter('State', state, 'all but revoked', states, setState)}
        ${filter(
          'Plan',
          plan,
          'all',
          plans.map(({ name }) => name),
          setPlan,
        )}
        ${session.role === 'all' && html`<${MakeKey} made=${keys.reload} />`}
        ${
          search !== '' &&
          html`<p class="chip">
            Keys with <b>${search}</b> only.
            <button type="button" class="link" onClick=${() => list('')}>Show all</button>
          </p>`
        }
      </div>
    `,
    aged(keys, ({ keys: rows, next }) =>
      rows.length === 0
        ? html`<${Empty} isFiltered=${search + state + plan !== ''} />`
        : html`
            ${table('Keys by name', columnsOf(rows), rows, ({ id }) => id)}
            <p class="buttons">
              <button
                type="button"
                disabled=${after.length === 0}
                onClick=${() => setAfter(after.slice(0, -1))}
              >
                Back
              </button>
              <button
                type="button"
                disabled=${next === null}
                onClick=${() => setAfter([...after, next ?? ''])}
              >
                Next ${count(perPage)}
              </button>
            </p>
          `,
    ),
    html`<${Issuers} />`,
  )
}

const firstColumns: readonly Column<KeyOnPage>[] = [
  {
    name: 'Name',
    cell: ({ id, name, account, test }) => html`
      <a href=${`#/keys/${id}`}>${name}</a>
      ${account !== undefined && html`<div class="quiet">account ${account}</div>`}
      ${test && html`<div class="quiet">test key</div>`}
    `,
  },
  { name: 'Plan', cell: ({ plan }) => plan },
  {
    name: 'State',
    cell: ({ state, bannedUntil }) =>
      bannedUntil === undefined
        ? html`<span class=${`state ${state}`}>${state}</span>`
        : html`<span class="state banned">banned until ${clock(bannedUntil)}</span>`,
  },
]

const lastColumns: readonly Column<KeyOnPage>[] = [
  {
    name: 'Refused today',
    isNumber: true,
    cell: ({ refusedToday = 0 }) => (refusedToday > 0 ? count(refusedToday) : ''),
  },
  {
    name: 'Last used',
    cell: ({ lastUsedAt }) =>
      lastUsedAt
        ? html`<time datetime=${lastUsedAt} title=${local(lastUsedAt)}>${ago(lastUsedAt)}</time>`
        : html`<span class="quiet">never</span>`,
  },
  { name: 'Expires', cell: ({ expiresAt }) => time(expiresAt) },
]

function columnsOf(rows: readonly KeyOnPage[]): readonly Column<KeyOnPage>[] {
  const shown = windowsWhere(({ name }) => rows.some(({ standing }) => standing?.[name]))
  const ofWindows = shown.map(({ name, present }) => ({
    name: present,
    cell: ({ standing }: KeyOnPage) => use(present, standing?.[name]),
  }))
  return [...firstColumns, ...ofWindows, ...lastColumns]
}

function use(name: string, window: KeyStanding['minute'] | undefined) {
  const most = window?.included ?? window?.limit
  return window && most ? smallBar(name, window.used, most) : html`<span class="quiet">–</span>`
}

/** The way to the first key, for a gateway that has none. */
function Empty({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return html`<p class="quiet">No key matches.</p>`
  const callers = `${location.hostname}:8080`
  return html`
    <section class="card">
      <h2>There are no keys yet</h2>
      <p>Make one, here or on the command line. Its token is shown once:</p>
      <pre>tollgate keys create --plan free --name "My first"</pre>
      <p>Then call the API through the gateway, at its own address (${callers} by default):</p>
      <pre>curl http://${callers}/v1/pets -H "Authorization: Bearer TOKEN"</pre>
    </section>
  `
}
