import { useState } from 'preact/hooks'
import { html } from '../html.ts'

/** Copies sentences that can be sent back to a customer. */
export function CopyAnswer({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => setCopied(true))
  }
  return html`<button type="button" onClick=${copy}>${isCopied ? 'Copied' : 'Copy answer'}</button>`
}
