import { useState } from 'preact/hooks'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { colourOf } from '../../../../front/http/page/columns.ts'
import {
  column,
  keyLink,
  numeric,
  requestLink,
  table,
  reasonText,
  type Column,
} from '../page-parts.ts'
import type { LatestRefusal, RefusedKeyFigures } from '../../../live/figures.ts'
import type { Snapshot } from '../../../live/snapshot.ts'
import { typedIn } from '../controls.ts'

/** The width of the longest bar in the table, in rem. */
const longestBar = 6

/** The keys that were refused most in the last minute. */
export function refusedKeys({ refusedKeys: all }: Snapshot, plan: string | undefined): Child {
  const rows = all.filter((row) => plan === undefined || row.plan === plan)
  if (rows.length === 0)
    return html`<h2>Refused most</h2>
      <p class="quiet">No key was refused in the last minute.</p>`
  const most = Math.max(...rows.map((row) => row.count))
  return html`
    <h2>Refused most</h2>
    ${table<RefusedKeyFigures>(
      'Keys by refusals in the last minute',
      [
        column('Key', ({ key, name }) => keyLink(key, name)),
        column('Plan', ({ plan: of }) => of),
        column('By', ({ window }) => byWindow(window)),
        numeric(
          'A minute',
          (row) => html`
            <span
              class="share part"
              style=${{ ...colourOf(row.window ?? 'other'), width: `${(longestBar * row.count) / most}rem` }}
            ></span>
            ${count(row.count)}
          `,
        ),
      ],
      rows,
      ({ key, window }) => `${key} ${window}`,
      'tall',
    )}
  `
}

function byWindow(window: RefusedKeyFigures['window']): Child {
  if (window === null) return 'other rules'
  return window === 'ban' ? 'a ban' : `the ${window}`
}

type RefusalsProps = Readonly<{ refusals: readonly LatestRefusal[]; plan?: string }>

/** The latest refusals, the newest first, equal ones in one row; words of any column filter them. */
export function Refusals({ refusals, plan }: RefusalsProps) {
  const [filter, setFilter] = useState('')
  const words = filter.toLowerCase().split(/\s+/)
  const shown = refusals
    .filter((each) => plan === undefined || each.plan === plan)
    .filter((each) => {
      const text = [...Object.values(each), reasonText(each)].join(' ').toLowerCase()
      return words.every((word) => text.includes(word))
    })
  return html`
    <div class="section-head">
      <h2>Latest refusals</h2>
      <label class="inline"
        >Filter
        <input
          type="search"
          value=${filter}
          autocomplete="off"
          onInput=${(event: Event) => setFilter(typedIn(event))}
      /></label>
    </div>
    ${
      shown.length === 0
        ? html`<p class="quiet">
            ${refusals.length === 0 ? 'No recent refusals.' : 'No refusal matches.'}
          </p>`
        : table(
            `The latest ${count(shown.length)}, grouped by key and reason; the time links to the newest`,
            refusalColumns,
            alike(shown),
            ({ name }) => name,
            'tall',
          )
    }
  `
}

/** Refusals of one key for one reason, or failures for one, whose keys are of no importance. */
type Alike = {
  name: string
  newest: LatestRefusal
  times: number
  keys: Set<unknown>
  routes: Set<string>
}

/** Puts equal refusals together, those with the newest first. */
function alike(refusals: readonly LatestRefusal[]): Alike[] {
  const groups = new Map<string, Alike>()
  for (const newest of refusals.toReversed()) {
    const { key, status, code } = newest
    const name = [status < 500 && key, status, code, reasonText(newest)].join(' ')
    const seen = { keys: new Set(), routes: new Set<string>() }
    const group = groups.get(name) ?? { name, newest, times: 0, ...seen }
    group.times++
    group.keys.add(key)
    group.routes.add(newest.route)
    groups.set(name, group)
  }
  return [...groups.values()]
}

function andMore({ size }: ReadonlySet<unknown>): Child {
  return size > 1 && ` and ${count(size - 1)} more`
}

const refusalColumns: readonly Column<Alike>[] = [
  column('Newest', ({ newest: { id, time: at } }) => requestLink(id, at)),
  column('Why', ({ newest }) => reasonText(newest)),
  column('Key', ({ newest: { key, name }, keys }) => [
    key === null ? html`<span class="quiet">none</span>` : keyLink(key, name ?? ''),
    andMore(keys),
  ]),
  numeric('Times', ({ times }) => count(times)),
  column('Code', ({ newest: { status, code } }) => `${status} ${code ?? 'from the backend'}`),
  column('Route', ({ newest: { route }, routes }) => [
    html`<code>${route}</code>`,
    andMore(routes),
  ]),
]
