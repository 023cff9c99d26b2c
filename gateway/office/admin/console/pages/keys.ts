import { useState } from 'preact/hooks'
import { query } from '../api.ts'
import { select, typedIn, type Options } from '../controls.ts'
import { useData, useMayAll, usePlans } from '../data.ts'
import { sum } from '../../../../front/http/page/days.ts'
import { count, plural } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { aged, emptyPage, firstButton, page, table } from '../page-parts.ts'
import { SaveCsv } from '../action-button.ts'
import type { PlanToday } from '../../../foresight/plans-today.ts'
import type { KeyPage } from '../../../operations/keys/list.ts'
import { Issuers } from './jwt.ts'
import { keyColumns } from './key-columns.ts'
import { MakeKey } from './make-key.ts'

const perPage = 50

/** The time between two looks at the list; at one that is sorted, where a look reads all keys, a longer one. */
const [everyMs, sortedEveryMs] = [5_000, 30_000]

const states = [
  ['', 'all but revoked'],
  ...['active', 'disabled', 'expired', 'revoked'].map((state) => [state, state] as const),
] as const

type Props = Readonly<{ search: string; list: (text: string) => void }>

/** Keys, by name or by their use; `search` leaves those with a text, and `list` searches another one. */
export function Keys({ search, list }: Props) {
  const mayAll = useMayAll()
  const [chosen, setChosen] = useState({ state: '', plan: '', sort: '' })
  const plans = usePlans()
  const [after, setAfter] = useState<readonly string[]>([])
  const { sort, ...filters } = { ...chosen, search }
  const choose = (name: keyof typeof chosen, value: string): void => {
    setChosen({ ...chosen, [name]: value })
    setAfter([])
  }
  const path = `/admin/keys${query({ ...filters, sort, standing: 'true', limit: perPage, after: after.at(-1) })}`
  const today = useData<readonly PlanToday[]>('/admin/plans')
  const keys = useData<KeyPage>(path, sort === '' ? everyMs : sortedEveryMs)
  const filter = (label: string, name: keyof typeof chosen, options: Options) =>
    select(
      label,
      { onChange: (event: Event) => choose(name, typedIn(event)) },
      options,
      chosen[name],
    )
  return page(
    'Keys',
    'tollgate keys list --sort use · tollgate explain ID',
    mayAll && html`<${MakeKey} made=${keys.reload} isMain />`,
    html`
      <div class="tools inline">
        ${filter('State', 'state', states)}
        ${filter('Plan', 'plan', [['', 'all'], ...plans.map(({ name }) => [name, name] as const)])}
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
        ? nothingListed(Object.values(filters).join('') !== '', mayAll)
        : html`
            ${table(
              captionOf(filters, today.data),
              keyColumns({ sort, setSort: (value) => choose('sort', value) }),
              rows,
              ({ id }) => id,
            )}
            <div class="buttons">
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

/** How many keys a list has, where that is known without reading all of them. */
function captionOf(
  { state, plan, search }: Readonly<{ state: string; plan: string; search: string }>,
  today: readonly PlanToday[] = [],
): string {
  if (state + search !== '') return 'Keys that match'
  const some = today.filter(({ name }) => plan === '' || name === plan)
  return plural(sum(some.map(({ keys }) => keys)), 'key')
}

/** The way to the first key, for a gateway that has none. */
function nothingListed(isFiltered: boolean, mayAll: boolean): Child {
  if (isFiltered) return html`<p class="quiet">No key matches.</p>`
  return emptyPage(
    'There are no keys yet',
    mayAll && firstButton('Create the first key'),
    html`
      <p>On the command line:</p>
      <pre>tollgate keys create --plan free --name "My first"</pre>
      <p>Its token is shown once. <a href="#/now">Now</a> shows how to try it.</p>
    `,
  )
}

/** The keys of an account that are listed; the command has all. */
const mostKeys = 200

/** An account: its keys, which use up one quota. */
export function Account({ id }: { id: string }) {
  const mayAll = useMayAll()
  const path = `/admin/keys${query({ account: id, standing: 'true', limit: mostKeys })}`
  const keys = useData<KeyPage>(path, 5_000)
  return page(
    `Account ${id}`,
    `tollgate keys list --account ${id}`,
    mayAll && html`<${MakeKey} made=${keys.reload} account=${id} isMain />`,
    aged(keys, ({ keys: rows, next }) => {
      if (rows.length === 0)
        return emptyPage('No key has this account', mayAll && firstButton('Create its first key'))
      const some = `${next === null ? '' : 'More than '}${plural(rows.length, 'key')}`
      return html`
        <p class="sentence">
          ${`${some}. They use up one quota, each by the limits of its own plan; a test key has a quota of its own.`}
        </p>
        ${table(`Keys of ${id}`, keyColumns(), rows, (key) => key.id)}
      `
    }),
  )
}
