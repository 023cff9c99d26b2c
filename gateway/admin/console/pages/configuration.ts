import { useEffect, useState } from 'preact/hooks'
import { ApiError, ask, type Session } from '../api.ts'
import { useData } from '../data.ts'
import { html, type Child } from '../html.ts'
import { ActionButton, aged, failure, page, table, time } from '../parts.ts'
import type { ConfigInForce, Fleet } from '../views.ts'

/** How long the editor waits after the last key. */
const pauseMs = 500

/** The configuration in force on each gateway, the mistakes of its file, and a check of another text. */
export function Configuration({ session }: { session: Session }) {
  const config = useData<ConfigInForce>('/admin/config', 5_000)
  const fleet = useData<Fleet>('/admin/gateways', 2_000)
  const reload = async (): Promise<void> => {
    await ask('POST', '/admin/config/reload')
    config.reload()
  }
  return page(
    'Configuration',
    'tollgate config running · tollgate gateways · tollgate config check FILE',
    aged(
      config,
      ({ file, hash, loadedAt, mistakes, warnings }) => html`
        <p>
          This gateway goes by <code>${file}</code> (<code>${hash}</code>) since ${time(loadedAt)}.
        </p>
        ${
          mistakes.length > 0 &&
          html` <div class="banner bad" role="alert">
            <p>The file as it is now is refused, and the one before stays in force:</p>
            <ul>
              ${mistakes.map((mistake) => html`<li><code>${mistake}</code></li>`)}
            </ul>
          </div>`
        }
        ${warnings.map((warning) => html`<p class="banner"><code>${warning}</code></p>`)}
        ${
          session.role === 'all' &&
          html` <div class="tools">
            <${ActionButton}
              label="Read the file again"
              consequence=${`This gateway reads ${file} now. A file with mistakes changes nothing.`}
              act=${reload}
            />
          </div>`
        }
      `,
    ),
    aged(fleet, gatewaysOf),
    html`<${Check} />`,
  )
}

function gatewaysOf({ summary, gateways, differSinceAt }: Fleet): Child {
  return html`
    <h2>Gateways</h2>
    <p class=${differSinceAt === null ? '' : 'banner bad'} role="status">${summary}</p>
    ${table(
      'All gateways of this store',
      [
        { name: 'Name', cell: ({ name }: Fleet['gateways'][number]) => name },
        { name: 'Version', cell: ({ version }: Fleet['gateways'][number]) => version },
        { name: 'Since', cell: ({ startedAt }: Fleet['gateways'][number]) => time(startedAt) },
        {
          name: 'Configuration',
          cell: ({ config }: Fleet['gateways'][number]) =>
            config ? html`<code>${config.hash}</code>` : 'its own',
        },
        {
          name: 'In force since',
          cell: ({ config }: Fleet['gateways'][number]) => time(config?.sinceAt),
        },
        {
          name: 'Refuses its file',
          cell: ({ config }: Fleet['gateways'][number]) => config?.refuses ?? '',
        },
        { name: 'Address', cell: ({ address }: Fleet['gateways'][number]) => address ?? '' },
      ],
      gateways,
      ({ id }) => id,
    )}
  `
}

type Checked = Readonly<{
  sound: boolean
  mistakes: readonly string[]
  warnings?: readonly string[]
  differences: readonly Readonly<Record<string, unknown>>[]
}>

/** Checks a text as it is typed: its mistakes, or what it would change. It is saved nowhere. */
function Check() {
  const [text, setText] = useState('')
  const [checked, setChecked] = useState<Checked>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    setError(undefined)
    if (text.trim() === '') return setChecked(undefined)
    const timer = setTimeout(() => {
      askText(text).then(setChecked, (thrown: unknown) => {
        setChecked(undefined)
        setError(thrown instanceof ApiError ? thrown.message : String(thrown))
      })
    }, pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  return html`
    <section class="card">
      <h2>Check a change</h2>
      <p>
        Paste a whole configuration. It is checked while you type, and compared with the one in
        force; nothing is saved.
      </p>
      <label class="above" for="draft">Configuration</label>
      <textarea
        id="draft"
        rows="14"
        spellcheck=${false}
        wrap="off"
        value=${text}
        onInput=${(event: Event) => setText((event.target as HTMLTextAreaElement).value)}
      ></textarea>
      ${error !== undefined && failure({ message: error })}
      ${checked && html`<${Result} checked=${checked} />`}
    </section>
  `
}

function Result({ checked: { sound, mistakes, differences } }: { checked: Checked }) {
  if (!sound) {
    return html`
      <div class="banner bad" role="alert">
        <p>It has mistakes:</p>
        <ul>
          ${mistakes.map((mistake) => html`<li><code>${mistake}</code></li>`)}
        </ul>
      </div>
    `
  }
  if (differences.length === 0)
    return html`<p class="banner good" role="status">It is sound, and changes nothing.</p>`
  const names = [...new Set(differences.flatMap((each) => Object.keys(each)))]
  return html`
    <p class="banner good" role="status">It is sound.</p>
    ${table(
      'What it would change',
      names.map((name) => ({
        name,
        cell: (each: Checked['differences'][number]) => shown(each[name]),
      })),
      differences,
    )}
  `
}

function askText(text: string): Promise<Checked> {
  return ask<Checked>('POST', '/admin/config/check', text)
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}
