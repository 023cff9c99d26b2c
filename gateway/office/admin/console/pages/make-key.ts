import { useRef, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { fieldText } from '../controls.ts'
import { useData } from '../data.ts'
import { limitFields, limitsIn } from '../limit-fields.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html } from '../../../../front/http/page/html.ts'
import { failure } from '../page-parts.ts'
import { plansIn } from '../settings.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { MadeKey } from '../../../operations/keys/create.ts'
import { useWork } from '../button-work.ts'

/** Makes a key. Its token is in this dialog until it is closed, and nowhere else. */
export function MakeKey({ made }: { made: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const form = useRef<HTMLFormElement>(null)
  const config = useData<RunningConfig>('/admin/config')
  const [key, setKey] = useState<MadeKey>()
  const [hasAccount, setHasAccount] = useState(false)
  const { isBusy, error, run } = useWork()
  const plans = config.data ? plansIn(config.data.config) : []
  const create = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!form.current) return
    const settings = settingsIn(new FormData(form.current))
    await run(async () => setKey(await ask<MadeKey>('POST', '/admin/keys', settings)))
  }
  const close = (): void => {
    if (!key) return
    made()
    setKey(undefined)
    setHasAccount(false)
  }
  return html`
    <button type="button" onClick=${() => dialog.current?.showModal()}>Make a key</button>
    <dialog ref=${dialog} aria-label="Make a key" onClose=${close}>
      <h2>Make a key</h2>
      ${
        key
          ? html`<${Shown} token=${key.key} />
              <form method="dialog" class="buttons"><button>Done</button></form>`
          : html`
              <form ref=${form} onSubmit=${(event: Event) => void create(event)}>
                <label>Name <input name="name" required autocomplete="off" /></label>
                <label
                  >Plan
                  <select name="plan" required>
                    ${plans.map(({ name }) => html`<option value=${name}>${name}</option>`)}
                  </select>
                </label>
                <label
                  >Account, if several keys share one quota
                  <input
                    name="account"
                    autocomplete="off"
                    onInput=${(event: Event) => setHasAccount((event.target as HTMLInputElement).value.trim() !== '')}
                /></label>
                <details>
                  <summary>Limits of its own</summary>
                  ${limitFields('limits')}
                </details>
                ${hasAccount && limitFields('cap')}
                <label>Note <input name="note" autocomplete="off" /></label>
                <label>
                  <input type="checkbox" name="test" /> Test key: lets its owner simulate refusals.
                  This can’t be changed later.
                </label>
                ${error !== undefined && failure({ message: error })}
                <div class="buttons">
                  <button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
                  <button class="go" disabled=${isBusy}>Make it</button>
                </div>
              </form>
            `
      }
    </dialog>
  `
}

function settingsIn(form: FormData): object {
  const texts = ['name', 'plan', 'account', 'note'].map(
    (name) => [name, fieldText(form, name)] as const,
  )
  return {
    ...Object.fromEntries(texts.filter(([, text]) => text !== '')),
    ...limitsIn(form, 'limits'),
    ...limitsIn(form, 'cap'),
    ...(form.has('test') ? { test: true } : {}),
  }
}

/** A token, this once. */
export function Shown({ token }: { token: string }) {
  return html`
    <p>Its token is shown this once. Give it to its owner by a safe way:</p>
    <p class="token"><code>${token}</code></p>
    <p><${CopyButton} text=${token} label="Copy" class="go" /></p>
  `
}
