import { useState } from 'preact/hooks'
import { CopyButton } from '../../http/page/copy-button.ts'
import { messageOf } from '../../http/page/format.ts'
import { html } from '../../http/page/html.ts'
import { time } from '../../http/page/time.ts'
import type { OwnRotation } from '../rotation.ts'
import { ask, type HeldKey } from './request.ts'

export type RotateFormProps = Readonly<{
  path: string
  apiKey: HeldKey
  /** Called with the new token, once its holder has it. */
  done: (key: string) => void
}>

/** Gives the key a new token, which is shown once. */
export function RotateForm({ path, apiKey, done }: RotateFormProps) {
  const [rotated, setRotated] = useState<OwnRotation>()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = (event: Event): void => {
    event.preventDefault()
    const overlap = new FormData(event.target as HTMLFormElement).get('overlap')
    setError(undefined)
    setBusy(true)
    const headers = { 'Content-Type': 'application/json' }
    ask<OwnRotation>(apiKey, path, { method: 'POST', headers, body: JSON.stringify({ overlap }) })
      .then(setRotated, (thrown: unknown) => setError(messageOf(thrown)))
      .finally(() => setBusy(false))
  }
  if (rotated) {
    return html`
      <div class="banner good" role="status">
        <p><b>Your new key. It isn’t shown again:</b></p>
        <p><code class="token">${rotated.key}</code></p>
        <p class="buttons">
          <${CopyButton} text=${rotated.key} label="Copy the key" />
          <button type="button" onClick=${() => done(rotated.key)}>
            I’ve saved it; use it here
          </button>
        </p>
        <p>
          The old one works until ${rotated.oldTokenUntil ? time(rotated.oldTokenUntil) : 'now'}.
        </p>
      </div>
    `
  }
  return html`
    <details>
      <summary>Rotate this key</summary>
      <form class="try" onSubmit=${submit}>
        <label>
          The old token still works for
          <select name="overlap">
            <option value="24h">a day</option>
            <option value="1h">an hour</option>
            <option value="168h">a week</option>
          </select>
        </label>
        <p class="quiet">
          The plan, the limits and what was used stay. Until the old token ends, you can’t rotate
          again.
        </p>
        <p><button class="go" disabled=${isBusy}>Rotate</button></p>
        ${error !== undefined && html`<p class="banner bad" role="alert">${error}</p>`}
      </form>
    </details>
  `
}
