import { useRef, useState } from 'preact/hooks'
import { useWork } from './button-work.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { failure } from './page-parts.ts'

type Props = Readonly<{
  /** The words on its button, and its heading. */
  label: string
  /** The sentence about its effect, shown before it happens. */
  consequence: string
  /** A word to type, for what can't be undone. */
  typed?: string | undefined
  fields?: Child
  submit: (form: FormData) => Promise<void>
}>

/** A button that opens a form, which tells what it does before it is sent. */
export function FormDialog({ label, consequence, typed, fields, submit }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [word, setWord] = useState('')
  const [closings, setClosings] = useState(0)
  const { isBusy, error, run, forget } = useWork()
  const open = (): void => {
    forget()
    dialog.current?.showModal()
  }
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    const isDone = await run(() => submit(form))
    if (isDone) dialog.current?.close()
    // Somebody may have closed it meanwhile, and thinks that it was done.
    else if (dialog.current?.open === false) dialog.current.showModal()
  }
  const close = (): void => {
    setWord('')
    setClosings(closings + 1)
  }
  return html`
    <button type="button" onClick=${open}>${label}</button>
    <dialog ref=${dialog} aria-label=${label} onClose=${close}>
      <form key=${closings} onSubmit=${(event: Event) => void send(event)}>
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
        ${fields} ${error !== undefined && failure({ message: error })}
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
