import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, ask, get, query, type Session } from '../api.ts'
import { useData } from '../data.ts'
import { ago, count, local } from '../format.ts'
import { html } from '../html.ts'
import { aged, failure, page, table, time, type Column } from '../parts.ts'
import type { Key, KeyPage } from '../views.ts'
import { MakeKey } from './make-key.ts'

const perPage = 50

/** Keys by name, and one field that finds whatever a customer has sent. */
export function Callers({ session }: { session: Session }) {
  const [search, setSearch] = useState('')
  const [state, setState] = useState('')
  const [after, setAfter] = useState<readonly string[]>([])
  const path = `/admin/keys${query({ search, state, limit: perPage, after: after.at(-1) })}`
  const keys = useData<KeyPage>(path)
  const find = (text: string): void => {
    setSearch(text)
    setAfter([])
  }
  return page(
    'Callers',
    'tollgate keys list --search TEXT · tollgate explain ID',
    html`<${Search} list=${find} />`,
    html`
      <div class="tools">
        <label
          >State
          <select
            value=${state}
            onChange=${(event: Event) => {
              setState((event.target as HTMLSelectElement).value)
              setAfter([])
            }}
          >
            <option value="">all but revoked</option>
            ${['active', 'disabled', 'expired', 'revoked'].map((each) => html`<option value=${each}>${each}</option>`)}
          </select>
        </label>
        ${session.role === 'all' && html`<${MakeKey} made=${keys.reload} />`}
      </div>
    `,
    aged(keys, ({ keys: rows, next }) =>
      rows.length === 0
        ? html`<${Empty} search=${search} state=${state} />`
        : html`
            ${table(search === '' ? 'Keys by name' : `Keys with “${search}”`, columns, rows, ({ id }) => id)}
            <p class="buttons">
              <button
                type="button"
                disabled=${after.length === 0}
                onClick=${() => setAfter(after.slice(0, -1))}
              >
                Back
              </button>
              <button
                type="button"
                disabled=${next === null}
                onClick=${() => setAfter([...after, next ?? ''])}
              >
                Next ${count(perPage)}
              </button>
            </p>
          `,
    ),
  )
}

const columns: readonly Column<Key>[] = [
  { name: 'Name', cell: ({ id, name }) => html`<a href=${`#/callers/${id}`}>${name}</a>` },
  { name: 'Id', cell: ({ id }) => html`<code>${id}</code>` },
  { name: 'Plan', cell: ({ plan }) => plan },
  { name: 'Account', cell: ({ account = '' }) => account },
  {
    name: 'State',
    cell: ({ state, bannedUntil }) =>
      bannedUntil === undefined
        ? html`<span class=${`state ${state}`}>${state}</span>`
        : html`<span class="state banned">banned until ${time(bannedUntil)}</span>`,
  },
  {
    name: 'Last used',
    cell: ({ lastUsedAt }) =>
      lastUsedAt
        ? html`<time datetime=${lastUsedAt} title=${local(lastUsedAt)}>${ago(lastUsedAt)}</time>`
        : html`<span class="quiet">never</span>`,
  },
  { name: 'Expires', cell: ({ expiresAt }) => time(expiresAt) },
]

/** The way to the first key, for a gateway that has none. */
function Empty({ search, state }: { search: string; state: string }) {
  if (search !== '' || state !== '') return html`<p class="quiet">No key matches.</p>`
  const callers = `${location.hostname}:8080`
  return html`
    <section class="card">
      <h2>There are no keys yet</h2>
      <p>Make one, here or on the command line. Its token is shown once:</p>
      <pre>tollgate keys create --plan free --name "My first"</pre>
      <p>Then call the API through the gateway, at its own address (${callers} by default):</p>
      <pre>curl http://${callers}/v1/pets -H "Authorization: Bearer TOKEN"</pre>
    </section>
  `
}

/** A name, an account, an id of a key or of a request, or a whole token. */
function Search({ list }: { list: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => field.current?.focus(), [])
  const go = async (event: Event): Promise<void> => {
    event.preventDefault()
    const text = field.current?.value.trim() ?? ''
    setError(undefined)
    if (text === '') return list('')
    setBusy(true)
    try {
      const place = await placeOf(text)
      if (isToken(text) && field.current) field.current.value = ''
      if (place === undefined) list(isToken(text) ? '' : text)
      else location.hash = place
      if (place === undefined && isToken(text)) setError('No key has this token.')
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown))
    }
    setBusy(false)
  }
  return html`
    <form class="search" role="search" onSubmit=${(event: Event) => void go(event)}>
      <label for="search">What did the customer send?</label>
      <div>
        <input
          id="search"
          ref=${field}
          type="search"
          autocomplete="off"
          spellcheck=${false}
          placeholder="name, account, note, key id, X-Request-Id or token"
        />
        <button class="go" disabled=${isBusy}>Find</button>
      </div>
      ${error !== undefined && failure({ message: error })}
    </form>
  `
}

function isToken(text: string): boolean {
  return /^tg_\w{12}_\w+$/.test(text)
}

/** The page about what a text names; `undefined` if it names nothing by itself. */
async function placeOf(text: string): Promise<string | undefined> {
  if (isToken(text)) {
    const found = await orNothing(ask<{ key: Key }>('POST', '/admin/keys/find', { token: text }))
    return found && `#/callers/${found.key.id}`
  }
  if (!/^[\w.-]{1,128}$/.test(text)) return undefined
  const request = await orNothing(get<unknown>(`/admin/requests/${encodeURIComponent(text)}`))
  if (request) return `#/requests/${encodeURIComponent(text)}`
  if (!/^[0-9A-Za-z]{12}$/.test(text)) return undefined
  const key = await orNothing(get<Key>(`/admin/keys/${text}`))
  return key && `#/callers/${key.id}`
}

async function orNothing<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}
