import { refusalOf, send } from './api.ts'
import { useRef, useState } from 'preact/hooks'
import { useWork } from '../../../front/http/page/work.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { failure } from './page-parts.ts'
import { formIn, typedIn } from './controls.ts'

type Props = Readonly<{
  /** The words on its button, and its heading. */
  label: string
  /** The words on the button that sends it, if they are others. */
  go?: string
  /** Whether its button is the one of its page that is filled. */
  isMain?: boolean | undefined
  /** The sentence about its effect, shown before it happens. */
  consequence?: string
  /** A word to type, for what can't be undone. */
  typed?: string | undefined
  fields?: Child
  /** Does it. What it gives back is shown in place of the form, until that is closed. */
  act: (form: FormData) => Promise<Child | void>
  /** Called when what it gave back was closed. */
  closed?: () => void
}>

/** A button that tells what will happen, and asks once more; with fields, it opens a form. */
export function ActionButton({ label, go = label, isMain, ...rest }: Props) {
  const { consequence, typed, fields, act, closed } = rest
  const dialog = useRef<HTMLDialogElement>(null)
  const [word, setWord] = useState('')
  const [closings, setClosings] = useState(0)
  const [result, setResult] = useState<Child | void>()
  const { isBusy, error, run, forget } = useWork()
  const open = (): void => {
    forget()
    dialog.current?.showModal()
  }
  const send = async (event: Event): Promise<void> => {
    const form = formIn(event)
    let given: Child | void
    const isDone = await run(async () => setResult((given = await act(form))))
    const { current: shown } = dialog
    if (isDone && !given) shown?.close()
    // Somebody may have closed it meanwhile, and its menu, and would miss how it went.
    else if (shown?.open === false) {
      shown.closest<HTMLElement>('[popover]')?.togglePopover(true)
      shown.showModal()
    }
  }
  const close = (): void => {
    setWord('')
    setClosings(closings + 1)
    if (result) closed?.()
    setResult(undefined)
  }
  return html`
    <button type="button" class=${isMain ? 'go' : ''} onClick=${open}>${label}</button>
    <dialog ref=${dialog} aria-label=${label} onClose=${close}>
      <h2>${label}</h2>
      ${
        result
          ? html`${result}
              <form method="dialog" class="buttons"><button>Done</button></form>`
          : html`<form key=${closings} onSubmit=${(event: Event) => void send(event)}>
              ${consequence !== undefined && html`<p>${consequence}</p>`}
              ${
                typed !== undefined &&
                html`<label
                  ><span>Type <b>${typed}</b> to confirm</span>
                  <input
                    value=${word}
                    autocomplete="off"
                    onInput=${(event: Event) => setWord(typedIn(event))}
                  />
                </label>`
              }
              ${fields} ${error !== undefined && failure(error)}
              <div class="buttons">
                <button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
                <button class="go" disabled=${isBusy || (typed !== undefined && word !== typed)}>
                  ${go}
                </button>
              </div>
            </form>`
      }
    </dialog>
  `
}

type CsvProps = Readonly<{
  /** The words on its button. */
  label: string
  /** The name of the file. */
  file: string
  method: string
  path: string
  body?: unknown
}>

/** A button that saves an answer as CSV, as the command writes it. A refusal is told, and no file is made of it. */
export function SaveCsv({ label, file, method, path, body }: CsvProps) {
  const { error, run } = useWork()
  const save = async (): Promise<void> => {
    const answer = await send(method, path, { body, accept: 'text/csv' })
    if (!answer.ok) throw await refusalOf(answer)
    saveAs(file, await answer.text())
  }
  return html`
    <p class="tools">
      <button type="button" onClick=${() => void run(save)}>${label}</button>
      ${error !== undefined && failure(error)}
    </p>
  `
}

/** Hands a text to the browser as a file. */
function saveAs(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
