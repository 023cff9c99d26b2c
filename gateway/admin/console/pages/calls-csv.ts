import { saveCsv } from '../download.ts'
import { html } from '../html.ts'
import { failure } from '../parts.ts'
import type { DeprecatedCalls } from '../views.ts'
import { useWork } from '../work.ts'

/** Saves the report as CSV, as the command writes it. */
export function CallsCsv({ calls }: { calls: readonly DeprecatedCalls[] }) {
  const { error, run } = useWork()
  if (calls.length === 0) return null
  const save = (): Promise<boolean> =>
    run(() => saveCsv('deprecated-calls.csv', 'GET', '/admin/deprecations'))
  return html`
    <p class="tools">
      <button type="button" onClick=${() => void save()}>Save all callers as CSV</button>
      ${error !== undefined && failure({ message: error })}
    </p>
  `
}
