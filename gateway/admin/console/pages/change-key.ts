import { useRef, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { fieldText } from '../controls.ts'
import { useData } from '../data.ts'
import { html } from '../html.ts'
import { failure } from '../parts.ts'
import { plansIn } from '../settings.ts'
import type { ConfigInForce, KeyDetails } from '../views.ts'

/** Changes the plan or the limits of a key, and its note. */
export function ChangeKey({ details, done }: { details: KeyDetails; done: () => void }) {
  const { id, name, plan, limits = {}, note = '' } = details
  const dialog = useRef<HTMLDialogElement>(null)
  const config = useData<ConfigInForce>('/admin/config')
  const [error, setError] = useState<string>()
  const plans = config.data ? plansIn(config.data.config) : []
  const change = async (event: Event): Promise<void> => {
    event.preventDefault()
    setError(undefined)
    try {
      await ask(
        'PATCH',
        `/admin/keys/${id}`,
        changeIn(new FormData(event.target as HTMLFormElement)),
      )
      dialog.current?.close()
      done()
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown))
    }
  }
  return html`
    <button type="button" onClick=${() => dialog.current?.showModal()}>
      Change plan or limits
    </button>
    <dialog ref=${dialog} aria-label="Change plan or limits">
      <form onSubmit=${(event: Event) => void change(event)}>
        <h2>Change plan or limits</h2>
        <p>
          “${name}” goes by the new limits within a second, on every gateway. What it has used stays
          counted.
        </p>
        <label
          >Plan
          <select name="plan" value=${plan}>
            ${plans.map((each) => html`<option value=${each.name} selected=${each.name === plan}>${each.name}</option>`)}
          </select>
        </label>
        <label
          >A minute, if not as the plan says
          <input name="perMinute" value=${limits.perMinute ?? ''} autocomplete="off" />
        </label>
        <label
          >A day, if not as the plan says
          <input name="perDay" value=${limits.perDay ?? ''} autocomplete="off" />
        </label>
        <label>Note <input name="note" value=${note} autocomplete="off" /></label>
        ${error !== undefined && failure({ message: error })}
        <div class="buttons">
          <button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
          <button class="go">Change it</button>
        </div>
      </form>
    </dialog>
  `
}

/** The change that a form asks for: an empty field takes a setting away. */
function changeIn(form: FormData): object {
  const text = (name: string): string => fieldText(form, name)
  const limit = (name: string): number | string | null => {
    const given = text(name)
    return given === '' ? null : /^\d+$/.test(given) ? Number(given) : given
  }
  return {
    plan: text('plan'),
    limits: { perMinute: limit('perMinute'), perDay: limit('perDay') },
    note: text('note') || null,
  }
}
