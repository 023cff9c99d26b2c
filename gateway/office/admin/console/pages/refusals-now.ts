import { useState } from 'preact/hooks'
import { clock, count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { table } from '../page-parts.ts'
import { reasonText } from '../reason-text.ts'
import type { LatestRefusal, RefusedKeyFigures } from '../../../live/figures.ts'
import type { Picture } from '../../../live/picture.ts'

/** The width of the longest bar in the table, in rem. */
const longestBar = 6

/** The keys that were refused most in the last minute. */
export function refusedKeys({ refusedKeys: all }: Picture, plan: string | undefined): Child {
  const rows = all.filter((row) => plan === undefined || row.plan === plan)
  if (rows.length === 0)
    return html`<h2>Refused most</h2>
      <p class="quiet">No key was refused in the last minute.</p>`
  const most = Math.max(...rows.map((row) => row.count))
  return html`
    <h2>Refused most</h2>
    ${table(
      'Keys by refusals in the last minute',
      [
        {
          name: 'Key',
          cell: ({ key, name }: RefusedKeyFigures) => html`<a href=${`#/keys/${key}`}>${name}</a>`,
        },
        { name: 'Plan', cell: ({ plan: of }: RefusedKeyFigures) => of },
        { name: 'By', cell: ({ window }: RefusedKeyFigures) => byWindow(window) },
        {
          name: 'A minute',
          isNumber: true,
          cell: (row: RefusedKeyFigures) => html`
            <span
              class=${`share part-${row.window ?? 'other'}`}
              style=${{ width: `${(longestBar * row.count) / most}rem` }}
            ></span>
            ${count(row.count)}
          `,
        },
      ],
      rows,
      ({ key, window }) => `${key} ${window}`,
    )}
  `
}

function byWindow(window: RefusedKeyFigures['window']): Child {
  if (window === null) return 'other rules'
  return window === 'ban' ? 'a ban' : `the ${window}`
}

/** The latest refusals, the newest first; words of any column filter them. */
export function Refusals({
  refusals,
  plan,
}: {
  refusals: readonly LatestRefusal[]
  plan?: string
}) {
  const [filter, setFilter] = useState('')
  const words = filter.toLowerCase().split(/\s+/)
  const rows = refusals
    .filter((each) => plan === undefined || each.plan === plan)
    .filter((each) => {
      const text = [...Object.values(each), reasonText(each)].join(' ').toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .reverse()
  return html`
    <div class="section-head">
      <h2>Latest refusals</h2>
      <label class="inline"
        >Filter
        <input
          type="search"
          value=${filter}
          autocomplete="off"
          onInput=${(event: Event) => setFilter((event.target as HTMLInputElement).value)}
      /></label>
    </div>
    ${
      rows.length === 0
        ? html`<p class="quiet">
            ${refusals.length === 0 ? 'Nothing was refused lately.' : 'No refusal has these words.'}
          </p>`
        : table(
            `The latest ${rows.length} of at most 50; the time leads to the reason`,
            refusalColumns,
            rows,
            ({ id, time: at }) => `${id} ${at}`,
            true,
          )
    }
  `
}

const refusalColumns = [
  {
    name: 'When',
    cell: ({ id, time: at }: LatestRefusal) =>
      html`<a href=${`#/requests/${encodeURIComponent(id)}`}>${clock(at)}</a>`,
  },
  {
    name: 'Key',
    cell: ({ key, name }: LatestRefusal) =>
      key === null
        ? html`<span class="quiet">none</span>`
        : html`<a href=${`#/keys/${key}`}>${name}</a>`,
  },
  {
    name: 'Code',
    cell: ({ status, code }: LatestRefusal) => `${status} ${code ?? 'of the backend'}`,
  },
  { name: 'Why', cell: reasonText },
  { name: 'Route', cell: ({ route }: LatestRefusal) => html`<code>${route}</code>` },
]
