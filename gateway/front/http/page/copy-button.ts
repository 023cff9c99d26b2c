import { useState } from 'preact/hooks'
import { html } from './html.ts'

type CopyButtonProps = Readonly<{ text: string; label: string; class?: string }>

/** Copies a text, and says so. */
export function CopyButton({ text, label, ...look }: CopyButtonProps) {
  const [isDone, setDone] = useState(false)
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setDone(true),
      () => setDone(false),
    )
  }
  return html`
    <button type="button" ...${look} onClick=${copy}>${label}</button>
    <span role="status" class="quiet">${isDone ? 'Copied.' : ''}</span>
  `
}
