import { smallBar } from '../../../../front/http/page/bar.ts'
import { clock, count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { windowsWhere } from '../../../../front/http/page/windows.ts'
import { numeric, time, type Column } from '../page-parts.ts'
import type { KeyStanding } from '../../../operations/key-standing.ts'
import type { KeyOnPage } from '../../../operations/keys/list.ts'
import type { PickedKeys } from './many-keys.ts'

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
  numeric('Admitted today', ({ admittedToday }) => (admittedToday ? count(admittedToday) : '')),
  numeric('Refused today', ({ refusedToday }) => (refusedToday ? count(refusedToday) : '')),
  {
    name: 'Last used',
    cell: ({ lastUsedAt }) => time(lastUsedAt, 'never'),
  },
  { name: 'Expires', cell: ({ expiresAt }) => time(expiresAt) },
]

/** The columns of a list of keys. */
export function columnsOf(rows: readonly KeyOnPage[]): readonly Column<KeyOnPage>[] {
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

/** Boxes that pick keys, with one for all of a page above them. */
export function pickColumn(
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
  return { name: box('Select all on this page', rows), cell: (row) => box(row.name, [row]) }
}
