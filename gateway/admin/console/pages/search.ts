import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, ask, get, query } from '../api.ts'
import { html } from '../html.ts'
import { failure } from '../parts.ts'
import type { Key, KeyPage } from '../answers/callers.ts'

/** A name, an account, an id of a key or of a request, or a whole token. */
export function Search({ list }: { list: (text: string) => void }) {
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
  if (/^[\w.-]{1,128}$/.test(text)) {
    const request = await orNothing(get<unknown>(`/admin/requests/${encodeURIComponent(text)}`))
    if (request) return `#/requests/${encodeURIComponent(text)}`
  }
  const { keys } = await get<KeyPage>(`/admin/keys${query({ search: text, limit: 2 })}`)
  const [only, ...others] = keys
  return only && others.length === 0 ? `#/callers/${only.id}` : undefined
}

async function orNothing<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}
