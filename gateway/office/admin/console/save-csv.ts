import { refusalOf, send } from './api.ts'
import { html } from '../../../front/http/page/html.ts'
import { failure } from './page-parts.ts'
import { useWork } from '../../../front/http/page/work.ts'

type Props = Readonly<{
  /** The words on its button. */
  label: string
  /** The name of the file. */
  file: string
  method: string
  path: string
  body?: unknown
}>

/** A button that saves an answer as CSV, as the command writes it. A refusal is told, and no file is made of it. */
export function SaveCsv({ label, file, method, path, body }: Props) {
  const { error, run } = useWork()
  const save = async (): Promise<void> => {
    const answer = await send(method, path, { body, accept: 'text/csv' })
    if (!answer.ok) throw await refusalOf(answer)
    saveAs(file, await answer.text())
  }
  return html`
    <p class="tools">
      <button type="button" onClick=${() => void run(save)}>${label}</button>
      ${error !== undefined && failure({ message: error })}
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
