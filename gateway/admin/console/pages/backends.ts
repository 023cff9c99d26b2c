import { useRef, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { useData } from '../data.ts'
import { html, type Child } from '../html.ts'
import { aged, failure, page, table } from '../parts.ts'
import type { Upstreams } from '../views.ts'

type Checked = Readonly<{
  fit: boolean
  findings: readonly Readonly<Record<string, unknown>>[]
}>

/** The targets behind this gateway, and a check of a would-be one. */
export function Backends() {
  const upstreams = useData<Upstreams>('/admin/upstreams', 2_000)
  return page(
    'Backends',
    'tollgate upstream list · tollgate upstream check URL',
    aged(upstreams, (all) => {
      const names = Object.entries(all)
      if (names.length === 0) return html`<p class="quiet">The configuration has no upstreams.</p>`
      return names.map(([name, targets]) => {
        const rows = Object.entries(targets)
        if (rows.length === 0)
          return html`<h2>${name}</h2>
            <p class="quiet">No request has asked it yet.</p>`
        return html`
          <h2>${name}</h2>
          ${table(
            `Targets of ${name}`,
            [
              { name: 'Target', cell: ([url]: (typeof rows)[number]) => html`<code>${url}</code>` },
              { name: 'Health', cell: ([, target]: (typeof rows)[number]) => healthOf(target) },
              {
                name: 'Weight',
                isNumber: true,
                cell: ([, { weight }]: (typeof rows)[number]) => weight,
              },
            ],
            rows,
            ([url]) => url,
          )}
        `
      })
    }),
    html`<${Check} />`,
  )
}

function healthOf({
  healthy,
  refusesSignature,
}: Readonly<{ healthy: boolean; refusesSignature?: true }>): Child {
  if (refusesSignature) return html`<span class="state banned">refuses our signature</span>`
  return html`<span class=${`state ${healthy ? 'active' : 'revoked'}`}
    >${healthy ? 'healthy' : 'unhealthy'}</span
  >`
}

/** Compares another backend with the present one, by the upstream's probes. */
function Check() {
  const field = useRef<HTMLInputElement>(null)
  const [checked, setChecked] = useState<Checked>()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const check = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    setChecked(undefined)
    try {
      const url = field.current?.value ?? ''
      setChecked(await ask<Checked>('POST', '/admin/upstreams/check', { url }))
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown))
    }
    setBusy(false)
  }
  return html`
    <section class="card">
      <h2>Another backend</h2>
      <p>
        Sends the probes of the configuration to it and to the present one, and lists what would
        break for callers. It changes nothing.
      </p>
      <form class="tools" onSubmit=${(event: Event) => void check(event)}>
        <label
          >Address <input ref=${field} type="url" required placeholder="http://10.0.0.9:8090"
        /></label>
        <button class="go" disabled=${isBusy}>${isBusy ? 'Checking …' : 'Check'}</button>
      </form>
      ${error !== undefined && failure({ message: error })}
      ${checked && html`<${Findings} checked=${checked} />`}
    </section>
  `
}

function Findings({ checked: { fit, findings } }: { checked: Checked }) {
  const names = [...new Set(findings.flatMap((finding) => Object.keys(finding)))]
  return html`
    <p class=${`banner ${fit ? 'good' : 'bad'}`} role="status">
      ${fit ? 'Nothing would break.' : 'It would break something for callers.'}
    </p>
    ${table(
      'What was found',
      names.map((name) => ({
        name,
        cell: (finding: Checked['findings'][number]) => textOf(finding[name]),
      })),
      findings,
    )}
  `
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('; ')
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}
