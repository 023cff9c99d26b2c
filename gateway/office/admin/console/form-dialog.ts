import { useRef } from 'preact/hooks'
import { html, type Child } from '../../../front/http/page/html.ts'
import { failure } from './page-parts.ts'
import { useWork } from './button-work.ts'

type Props = Readonly<{
  /** The words on the button that opens it, and its heading. */
  label: string
  /** The sentence about its effect, shown before it happens. */
  consequence: string
  fields: Child
  submit: (form: FormData) => Promise<void>
}>

/** A button that opens a form. What the gateway refuses is told in it, and nothing is lost. */
export function FormDialog({ label, consequence, fields, submit }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { isBusy, error, run, forget } = useWork()
  const open = (): void => {
    forget()
    dialog.current?.showModal()
  }
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    if (await run(() => submit(form))) dialog.current?.close()
  }
  return html`
    <button type="button" onClick=${open}>${label}</button>
    <dialog ref=${dialog} aria-label=${label}>
      <form onSubmit=${(event: Event) => void send(event)}>
        <h2>${label}</h2>
        <p>${consequence}</p>
        ${fields} ${error !== undefined && failure({ message: error })}
        <div class="buttons">
          <button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
          <button class="go" disabled=${isBusy}>${label}</button>
        </div>
      </form>
    </dialog>
  `
}
