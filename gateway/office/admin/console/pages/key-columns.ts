import { smallBar } from '../../../../front/http/page/bars.ts'
import { clock, count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { windows } from '../../../../front/http/page/windows.ts'
import { accountLink, column, keyLink, numeric, time, type Column } from '../page-parts.ts'
import type { KeyOnPage } from '../../../operations/keys/list.ts'

/** The orders of a list, by the words above their columns. */
const orders = {
  Name: '',
  'Admitted today': 'use',
  'Refused today': 'refusals',
  'Last used': 'recent',
} as const

/** The order of a list, and how another one is taken. */
type Sorting = Readonly<{ sort: string; setSort: (sort: string) => void }>

/** The columns of a list of keys; those that it can be sorted by have buttons. Without sorting: of one account. */
export function keyColumns(sorting?: Sorting): readonly Column<KeyOnPage>[] {
  if (!sorting) return columns.filter(({ name }) => name !== 'Account')
  return columns.map((column) => {
    const order = orders[column.name as keyof typeof orders] as string | undefined
    if (order === undefined) return column
    return {
      ...column,
      order: sorting.sort !== order ? undefined : order === '' ? 'ascending' : 'descending',
      name: html`<button type="button" class="link" onClick=${() => sorting.setSort(order)}>
        ${column.name}
      </button>`,
    }
  })
}

const columns: readonly Column<KeyOnPage>[] = [
  column(
    'Name',
    ({ id, name, test }) => html`
      <span class="cut" title=${name}>
        ${keyLink(id, name)} ${test && html`<span class="quiet">test key</span>`}
      </span>
    `,
  ),
  column('Plan', ({ plan }) => plan),
  column('State', ({ state, bannedUntil }) =>
    bannedUntil === undefined
      ? html`<span class=${`state ${state}`}>${state}</span>`
      : html`<span class="state banned">banned until ${clock(bannedUntil)}</span>`,
  ),
  column('Account', ({ account }) => account !== undefined && accountLink(account)),
  column('Nearest limit', ({ standing }) => nearestLimit(standing)),
  numeric('Admitted today', ({ admittedToday }) => (admittedToday ? count(admittedToday) : '')),
  numeric('Refused today', ({ refusedToday }) => (refusedToday ? count(refusedToday) : '')),
  column('Last used', ({ lastUsedAt }) => time(lastUsedAt, 'never')),
  column('Expires', ({ expiresAt }) => time(expiresAt)),
]

/** The window of which a key has used most. */
function nearestLimit(standing: KeyOnPage['standing']): Child {
  const used = windows.flatMap(({ name, present }) => {
    const window = standing?.[name]
    const most = window?.included ?? window?.limit
    return window && most && window.used > 0 ? [{ present, used: window.used, most }] : []
  })
  const [nearest] = used.sort((a, b) => b.used / b.most - a.used / a.most)
  if (!nearest) return html`<span class="quiet">–</span>`
  return smallBar(nearest.present.toLowerCase(), nearest.used, nearest.most)
}
