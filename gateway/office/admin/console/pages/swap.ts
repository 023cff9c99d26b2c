import { ActionButton } from '../action-button.ts'
import { ask } from '../api.ts'
import { useWork } from '../../../../front/http/page/work.ts'
import { percent } from '../charts/outcomes.ts'
import { useData, useMayAll } from '../data.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { aged, column, failure, numeric, table } from '../page-parts.ts'
import type { SideView, SwapView } from '../../../../front/swaps/view.ts'
import { EditButton } from './edit.ts'

/** The swaps that the configuration describes: both sides next to each other, and the way back. */
export function Swaps() {
  const mayAll = useMayAll()
  const swaps = useData<Readonly<Record<string, SwapView>>>('/admin/swaps', 1_000)
  const all = Object.values(swaps.data ?? {})
  const waysBack =
    mayAll &&
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
            mayAll &&
            html`<${SwapActions} swap=${swap} reload=${() => swaps.reload()} />
              ${swap.state === 'all' && endOf(swap)}`
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
  return table<Row>(
    'Both sides in this step, on all gateways',
    [
      column('Side', ([name, targets]) => html`${name} <code>${targets.join(', ')}</code>`),
      numeric('Requests', ([, , side]) => count(side.requests)),
      numeric(
        'Failed',
        ([, , { failures, requests }]) =>
          html`<span class=${failures > 0 ? 'alarming' : ''}
            >${count(failures)}${requests > 0 && ` (${percent(failures, requests)})`}</span
          >`,
      ),
      numeric('p50, p95', ([, , { p50Ms, p95Ms }]) =>
        p50Ms === null ? '–' : `${p50Ms}, ${p95Ms} ms`,
      ),
    ],
    rows,
    ([name]) => name,
  )
}

/** The last change of a swap: its targets in place of the old ones. */
function endOf({ upstream, to }: SwapView): Child {
  const setting = `upstreams.${upstream}`
  return html`<${EditButton}
    label="End the swap in the file"
    set=${{ [`${setting}.targets`]: to, [`${setting}.swap`]: null }}
    watch="#/backends"
  />`
}

type Acting = Readonly<{ swap: SwapView; reload: () => void }>

/** The way back, in view wherever the page is scrolled to. It is one click, because it is for emergencies and loses nothing. */
function WayBack({ swap, reload }: Acting) {
  const { upstream, step, steps, state } = swap
  const { isBusy, error, run } = useWork()
  return html`
    <div class="buttons">
      <span><b>${upstream}</b>${step !== null && `, step ${step} of ${steps.length}`}</span>
      <button
        type="button"
        class="go"
        disabled=${isBusy || state === 'back' || state === 'waiting'}
        onClick=${() => void run(() => act(swap, 'back').then(reload))}
      >
        Back
      </button>
    </div>
    ${error !== undefined && failure(error)}
  `
}

/** The other changes of a swap; each tells what will happen. */
function SwapActions({ swap, reload }: Acting) {
  const { state, to } = swap
  const isOnItsWay = state === 'moving' || state === 'paused'
  const anew = state === 'back' || state === 'refused'
  const button = (label: string, consequence: string): Child =>
    html`<${ActionButton}
      key=${label}
      label=${label}
      consequence=${consequence}
      act=${() => act(swap, label.toLowerCase()).then(reload)}
    />`
  return html`
    <div class="buttons">
      ${
        state === 'moving' &&
        button('Pause', 'It stays at this step until it is resumed. It still goes back by itself.')
      }
      ${
        (state === 'paused' || anew) &&
        button(
          'Resume',
          anew
            ? `${to.join(', ')} is compared again, and the swap begins with its first step.`
            : 'It goes on with its steps.',
        )
      }
      ${isOnItsWay && button('Finish', `All callers go to ${to.join(', ')}, a second from now.`)}
    </div>
  `
}

function act({ upstream }: SwapView, verb: string): Promise<void> {
  return ask('POST', `/admin/upstreams/${encodeURIComponent(upstream)}/swap/${verb}`)
}
