import { html } from '../../http/page/html.ts'
import { useWork } from '../../http/page/work.ts'
import { ask } from './request.ts'
import type { Terms } from '../terms.ts'

export type KeyFormProps = Readonly<{
  /** The path before all paths of the gateway on this host. */
  root: string
  terms: Terms
  apiKey: string | undefined
  use: (key: string | undefined) => void
}>

/** Takes a key, and forgets it. It is kept in this page's memory alone: not even in the field that it was typed into. */
export function KeyForm({ root, terms, apiKey, use }: KeyFormProps) {
  const { isBusy, error, run } = useWork()
  const submit = (event: Event): void => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const text = new FormData(form).get('key')
    const token = typeof text === 'string' ? text.trim() : ''
    form.reset()
    const free = terms.quotaPath ?? terms.usagePath
    void run(async () => {
      // Every other path costs something: the first request will tell.
      if (free !== null) await ask({ token, header: terms.keyHeader }, root + free)
      use(token)
    })
  }
  if (apiKey !== undefined) {
    return html`
      <p class="key">
        <span>Your key is in use. It is kept only in the memory of this page.</span>
        <button type="button" onClick=${() => use(undefined)}>Forget the key</button>
      </p>
    `
  }
  return html`
    <form class="key" onSubmit=${submit} autocomplete="off">
      <label>
        Your API key
        <input
          name="key"
          type="password"
          required
          autocomplete="off"
          spellcheck=${false}
          maxlength="200"
        />
      </label>
      <button class="go" disabled=${isBusy}>Use this key</button>
      <p class="quiet">It stays in the memory of this page and is forgotten when you leave.</p>
      ${error !== undefined && html`<p class="banner bad" role="alert">${error}</p>`}
    </form>
  `
}
