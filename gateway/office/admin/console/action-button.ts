import { FormDialog } from './form-dialog.ts'
import { html } from '../../../front/http/page/html.ts'

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
export function ActionButton({ act, ...told }: Action) {
  return html`<${FormDialog} ...${told} submit=${act} />`
}
