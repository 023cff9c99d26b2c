import { ask } from '../api.ts'
import { ActionButton } from '../action-button.ts'
import { useWork } from '../../../../front/http/page/work.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { failure } from '../page-parts.ts'
import type { SwapView } from '../../../../front/swaps/view.ts'

type Acting = Readonly<{ swap: SwapView; reload: () => void }>

/** The way back, in view wherever the page is scrolled to. It is one click, because it is for emergencies and loses nothing. */
export function WayBack({ swap, reload }: Acting) {
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
    ${error !== undefined && failure({ message: error })}
  `
}

/** The other changes of a swap; each tells what will happen. */
export function SwapActions({ swap, reload }: Acting) {
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
