import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import { html } from '../html.ts'
import { failure } from '../parts.ts'
import type { DeprecatedCalls } from '../views.ts'

/** Saves the report as CSV, as the command writes it. */
export function CallsCsv({ calls }: { calls: readonly DeprecatedCalls[] }) {
  const [error, setError] = useState<string>()
  if (calls.length === 0) return null
  const save = async (): Promise<void> => {
    setError(undefined)
    try {
      const answer = await send('GET', '/admin/deprecations', { accept: 'text/csv' })
      saveAs('deprecated-calls.csv', await answer.text(), 'text/csv')
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown))
    }
  }
  return html`
    <p class="tools">
      <button type="button" onClick=${() => void save()}>Save all callers as CSV</button>
      ${error !== undefined && failure({ message: error })}
    </p>
  `
}

/** Hands a text to the browser as a file. */
export function saveAs(name: string, text: string, type: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
