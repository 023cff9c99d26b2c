import type { Session } from '../api.ts'
import { percent } from '../charts/outcomes.ts'
import { useData } from '../data.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { aged, numeric, table } from '../page-parts.ts'
import type { SideView, SwapView } from '../../../../front/swaps/view.ts'
import { EditButton } from './edit.ts'
import { SwapActions, WayBack } from './swap-actions.ts'

/** The swaps that the configuration describes: both sides next to each other, and the way back. */
export function Swaps({ session }: { session: Session }) {
  const swaps = useData<Readonly<Record<string, SwapView>>>('/admin/swaps', 1_000)
  const all = Object.values(swaps.data ?? {})
  const waysBack =
    session.role === 'all' &&
    all.length > 0 &&
    html`<div class="ways-back">
      ${all.map((swap) => html`<${WayBack} key=${swap.upstream} swap=${swap} reload=${swaps.reload} />`)}
    </div>`
  const cards = aged(swaps, () =>
    all.map(
      (swap) => html`
        <section class="card" key=${swap.upstream}>
          <h2>Swap of ${swap.upstream}</h2>
          <p class=${`banner ${bannerOf[swap.state] ?? ''}`}>${swap.summary}</p>
          ${stepsOf(swap)} ${sidesOf(swap)}
          ${
            session.role === 'all' &&
            html`<${SwapActions} swap=${swap} reload=${() => swaps.reload()} />
              ${swap.state === 'all' && endOf(swap, session)}`
          }
        </section>
      `,
    ),
  )
  return [waysBack, cards]
}

/** A sentence about each swap, for the page of what happens now. */
export function SwapBanners() {
  const swaps = useData<Readonly<Record<string, SwapView>>>('/admin/swaps', 5_000)
  return html`<div>
    ${Object.values(swaps.data ?? {}).map(
      ({ upstream, state, summary }) => html`
        <p class=${`banner ${bannerOf[state] ?? ''}`} role="status" key=${upstream}>
          ${summary} <a href="#/backends">See both sides</a>
        </p>
      `,
    )}
  </div>`
}

const bannerOf: Readonly<Record<string, string>> = { refused: 'bad', back: 'bad', all: 'good' }

/** The steps in their order; the present one is marked in words, too. */
function stepsOf({ step, steps, state }: SwapView): Child {
  return html`<ol class="steps" aria-label="Steps">
    ${steps.map((share, i) => {
      const isLast = i === steps.length - 1
      const isNow = step === i + 1
      const words = isLast ? 'all' : `${share} %`
      return html`<li
        key=${i}
        class=${isNow ? 'now' : step !== null && i + 1 < step ? 'done' : ''}
        aria-current=${isNow ? 'step' : undefined}
      >
        ${words}${isNow && (state === 'paused' ? ', paused' : ', now')}
      </li>`
    })}
  </ol>`
}

type Row = readonly [name: string, targets: readonly string[], side: SideView]

function sidesOf(swap: SwapView): Child {
  const rows: readonly Row[] = [
    ['Old', swap.from, swap.old],
    ['New', swap.to, swap.new],
  ]
  return table(
    'Both sides in this step, on all gateways',
    [
      {
        name: 'Side',
        cell: ([name, targets]: Row) => html`${name} <code>${targets.join(', ')}</code>`,
      },
      numeric('Requests', ([, , side]: Row) => count(side.requests)),
      numeric(
        'Failed',
        ([, , { failures, requests }]: Row) =>
          html`<span class=${failures > 0 ? 'alarming' : ''}
            >${count(failures)}${requests > 0 && ` (${percent(failures, requests)})`}</span
          >`,
      ),
      numeric('p50, p95', ([, , { p50Ms, p95Ms }]: Row) =>
        p50Ms === null ? '–' : `${p50Ms}, ${p95Ms} ms`,
      ),
    ],
    rows,
    ([name]) => name,
  )
}

/** The last change of a swap: its targets in place of the old ones. */
function endOf({ upstream, to }: SwapView, session: Session): Child {
  const setting = `upstreams.${upstream}`
  return html`<${EditButton}
    label="End the swap in the file"
    set=${{ [`${setting}.targets`]: to, [`${setting}.swap`]: null }}
    session=${session}
    watch="#/backends"
  />`
}
