import { useState } from 'preact/hooks'
import { query, type Session } from '../api.ts'
import { useData } from '../data.ts'
import { ago, local } from '../times.ts'
import { smallBar } from '../../../../front/http/page/bar.ts'
import { clock, count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { windowsWhere } from '../../../../front/http/page/windows.ts'
import { aged, page, table, time, type Column } from '../page-parts.ts'
import { SaveCsv } from '../save-csv.ts'
import { plansIn } from '../settings.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { KeyStanding } from '../../../operations/key-standing.ts'
import type { KeyOnPage, KeyPage } from '../../../operations/keys/list.ts'
import { Issuers } from './jwt.ts'
import { MakeKey } from './make-key.ts'
import { ManyKeys, type PickedKeys } from './many-keys.ts'

const perPage = 50

/** The time between two looks at the list; at one that is sorted, where a look reads all keys, a longer one. */
const [everyMs, sortedEveryMs] = [5_000, 30_000]

const states = [
  ['', 'all but revoked'],
  ...['active', 'disabled', 'expired', 'revoked'].map((state) => [state, state] as const),
] as const

const orders = [
  ['', 'A to Z'],
  ['use', 'by use today'],
  ['refusals', 'by refusals today'],
  ['recent', 'by last use'],
] as const

type Props = Readonly<{ session: Session; search: string; list: (text: string) => void }>

/** Keys, by name or by their use; `search` leaves those with a text, and `list` searches another one. */
export function Keys({ session, search, list }: Props) {
  const [state, setState] = useState('')
  const [plan, setPlan] = useState('')
  const [sort, setSort] = useState('')
  const config = useData<RunningConfig>('/admin/config')
  const plans = config.data
    ? plansIn(config.data.config).map(({ name }) => [name, name] as const)
    : []
  const [after, setAfter] = useState<readonly string[]>([])
  const [picked, setPicked] = useState<PickedKeys>(new Map())
  const [result, setResult] = useState<Child>()
  const filters = { search, state, plan }
  const path = `/admin/keys${query({ ...filters, sort, standing: 'true', limit: perPage, after: after.at(-1) })}`
  const keys = useData<KeyPage>(path, sort === '' ? everyMs : sortedEveryMs)
  const turnTo = (pages: readonly string[]): void => {
    setAfter(pages)
    setPicked(new Map())
  }
  const filter = (
    label: string,
    value: string,
    options: readonly (readonly [value: string, words: string])[],
    choose: (option: string) => void,
  ) => html`
    <label
      >${label}
      <select
        value=${value}
        onChange=${(event: Event) => {
          choose((event.target as HTMLSelectElement).value)
          turnTo([])
        }}
      >
        ${optionsOf(options)}
      </select>
    </label>
  `
  return page(
    'Keys',
    'tollgate keys list --sort use · tollgate explain ID',
    html`
      <div class="tools">
        ${filter('State', state, states, setState)}
        ${filter('Plan', plan, [['', 'all'], ...plans], setPlan)}
        ${filter('Order', sort, orders, setSort)}
        ${session.role === 'all' && html`<${MakeKey} made=${keys.reload} />`}
        ${
          search !== '' &&
          html`<p class="chip">
            Keys with <b>${search}</b> only.
            <button type="button" class="link" onClick=${() => list('')}>Show all</button>
          </p>`
        }
      </div>
      ${
        picked.size > 0 &&
        html`<${ManyKeys}
          keys=${picked}
          planField=${html`<label
            >Plan
            <select name="plan">
              ${optionsOf(plans)}
            </select></label
          >`}
          done=${(told: Child) => {
            setResult(told)
            keys.reload()
          }}
        />`
      }
      ${result}
    `,
    aged(keys, ({ keys: rows, next }) =>
      rows.length === 0
        ? html`<${Empty} isFiltered=${search + state + plan !== ''} />`
        : html`
            ${table(
              `Keys ${orders.find(([value]) => value === sort)?.[1]}`,
              [
                ...(session.role === 'all' ? [pickColumn(rows, picked, setPicked)] : []),
                ...columnsOf(rows),
              ],
              rows,
              ({ id }) => id,
            )}
            <div class="buttons">
              <button
                type="button"
                disabled=${after.length === 0}
                onClick=${() => turnTo(after.slice(0, -1))}
              >
                Back
              </button>
              <button
                type="button"
                disabled=${next === null}
                onClick=${() => turnTo([...after, next ?? ''])}
              >
                Next ${count(perPage)}
              </button>
              <${SaveCsv}
                label="Save all as CSV"
                file="keys.csv"
                method="GET"
                path=${`/admin/keys${query(filters)}`}
              />
            </div>
          `,
    ),
    html`<${Issuers} />`,
  )
}

function optionsOf(options: readonly (readonly [value: string, words: string])[]): Child {
  return options.map(([value, words]) => html`<option value=${value}>${words}</option>`)
}

/** Boxes that pick keys, with one for all of a page above them. */
function pickColumn(
  rows: readonly KeyOnPage[],
  picked: PickedKeys,
  pick: (keys: PickedKeys) => void,
): Column<KeyOnPage> {
  const box = (label: string, some: readonly KeyOnPage[]): Child => {
    const isPicked = some.every(({ id }) => picked.has(id))
    const change = (): void => {
      const keys = new Map(picked)
      for (const { id, name } of some)
        if (isPicked) keys.delete(id)
        else keys.set(id, name)
      pick(keys)
    }
    return html`<input
      type="checkbox"
      aria-label=${label}
      checked=${isPicked}
      onChange=${change}
    />`
  }
  return { name: box('All of this page', rows), cell: (row) => box(row.name, [row]) }
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
    name: 'Admitted today',
    isNumber: true,
    cell: ({ admittedToday }) => (admittedToday ? count(admittedToday) : ''),
  },
  {
    name: 'Refused today',
    isNumber: true,
    cell: ({ refusedToday }) => (refusedToday ? count(refusedToday) : ''),
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
