import { useRef, useState } from 'preact/hooks'
import { html } from '../../../front/http/page/html.ts'
import { failure } from './page-parts.ts'
import { useWork } from './button-work.ts'

export type Action = Readonly<{
  /** The words on its button. */
  label: string
  /** The sentence about its effect, shown before it happens. */
  consequence: string
  /** A word to type, for what can't be undone. */
  typed?: string
  act: () => Promise<void>
}>

/** A button that tells what will happen, and asks once more. */
export function ActionButton({ label, consequence, typed, act }: Action) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [word, setWord] = useState('')
  const { isBusy, error, run, forget } = useWork()
  const open = (): void => {
    setWord('')
    forget()
    dialog.current?.showModal()
  }
  const go = async (event: Event): Promise<void> => {
    event.preventDefault()
    const isDone = await run(act)
    if (isDone) dialog.current?.close()
    // Somebody may have closed it meanwhile, and thinks that it was done.
    else if (dialog.current?.open === false) dialog.current.showModal()
  }
  return html`
    <button type="button" onClick=${open}>${label}</button>
    <dialog ref=${dialog} aria-label=${label}>
      <form onSubmit=${(event: Event) => void go(event)}>
        <h2>${label}</h2>
        <p>${consequence}</p>
        ${
          typed !== undefined &&
          html`<label
            ><span>Type <b>${typed}</b> to go on</span>
            <input
              value=${word}
              autocomplete="off"
              onInput=${(event: Event) => setWord((event.target as HTMLInputElement).value)}
            />
          </label>`
        }
        ${error !== undefined && failure({ message: error })}
        <div class="buttons">
          <button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
          <button class="go" disabled=${isBusy || (typed !== undefined && word !== typed)}>
            ${label}
          </button>
        </div>
      </form>
    </dialog>
  `
}
