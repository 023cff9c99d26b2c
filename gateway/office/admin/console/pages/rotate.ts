import { useRef, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { html } from '../../../../front/http/page/html.ts'
import { failure } from '../page-parts.ts'
import { useWork } from '../button-work.ts'
import type { RotatedKey } from '../../../operations/keys/rotate.ts'
import { Shown } from './make-key.ts'

/** Gives a key a new token, and shows it this once. */
export function Rotate({ id, done }: { id: string; done: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [overlap, setOverlap] = useState('24h')
  const [token, setToken] = useState<string>()
  const { isBusy, error, run } = useWork()
  const rotate = async (event: Event): Promise<void> => {
    event.preventDefault()
    await run(async () => {
      const { key } = await ask<RotatedKey>('POST', `/admin/keys/${id}/rotate`, { overlap })
      setToken(key)
    })
  }
  const close = (): void => {
    if (token !== undefined) done()
    setToken(undefined)
  }
  return html`
    <button type="button" onClick=${() => dialog.current?.showModal()}>Rotate the token</button>
    <dialog ref=${dialog} aria-label="Rotate the token" onClose=${close}>
      <h2>Rotate the token</h2>
      ${
        token === undefined
          ? html`
              <form onSubmit=${(event: Event) => void rotate(event)}>
                <p>
                  The key gets a new token. The present one works on for a while, so that its owner
                  can change it.
                </p>
                <label
                  >The present token works for another
                  <select
                    value=${overlap}
                    onChange=${(event: Event) => setOverlap((event.target as HTMLSelectElement).value)}
                  >
                    <option value="1h">hour</option>
                    <option value="24h">day</option>
                    <option value="7d">week</option>
                    <option value="0">no time at all</option>
                  </select>
                </label>
                ${error !== undefined && failure({ message: error })}
                <div class="buttons">
                  <button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
                  <button class="go" disabled=${isBusy}>Rotate</button>
                </div>
              </form>
            `
          : html`<${Shown} token=${token} />
              <form method="dialog" class="buttons"><button>Done</button></form>`
      }
    </dialog>
  `
}
