import { useRef, useState } from 'preact/hooks'
import { html, type Child } from './html.ts'
import { failure } from './parts.ts'

type Props = Readonly<{
  /** The words on the button that opens it, and its heading. */
  label: string
  /** What will happen, told before it does. */
  consequence: string
  fields: Child
  submit: (form: FormData) => Promise<void>
}>

/** A button that opens a form. What the gateway refuses is told in it, and nothing is lost. */
export function FormDialog({ label, consequence, fields, submit }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isBusy) return
    setError(undefined)
    setBusy(true)
    try {
      await submit(new FormData(event.target as HTMLFormElement))
      dialog.current?.close()
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown))
    }
    setBusy(false)
  }
  return html`
    <button type="button" onClick=${() => dialog.current?.showModal()}>${label}</button>
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
