import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, ask, get, query } from '../api.ts'
import { html } from '../../../../front/http/page/html.ts'
import { failure } from '../page-parts.ts'
import { isJwt, judgedJwt } from './jwt.ts'
import type { FoundKey } from '../../../operations/keys/find.ts'
import type { JudgedToken } from '../../../operations/jwt/judged.ts'
import type { KeyPage } from '../../../operations/keys/list.ts'

/** A name, an account, an id of a key or of a request, or a whole token. */
export function Search({ list }: { list: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string>()
  const [judged, setJudged] = useState<JudgedToken>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => field.current?.focus(), [])
  const go = async (event: Event): Promise<void> => {
    event.preventDefault()
    const text = field.current?.value.trim() ?? ''
    setError(undefined)
    setJudged(undefined)
    if (text === '') return list('')
    setBusy(true)
    try {
      if (isJwt(text)) {
        if (field.current) field.current.value = ''
        setJudged(await ask<JudgedToken>('POST', '/admin/jwt/check', { token: text }))
        return setBusy(false)
      }
      const page = await placeOf(text)
      if (isToken(text) && field.current) field.current.value = ''
      if (page === undefined) list(isToken(text) ? '' : text)
      else location.hash = page
      if (page === undefined && isToken(text)) setError('No key has this token.')
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
      ${error !== undefined && failure({ message: error })} ${judged && judgedJwt(judged)}
    </form>
  `
}

function isToken(text: string): boolean {
  return /^tg_\w{12}_\w+$/.test(text)
}

/** The page about what a text names; `undefined` if it names nothing by itself. */
async function placeOf(text: string): Promise<string | undefined> {
  if (isToken(text)) {
    const answer = await orNothing(ask<FoundKey>('POST', '/admin/keys/find', { token: text }))
    return answer && `#/callers/${answer.key.id}`
  }
  const id = encodeURIComponent(text)
  const whyNot = /^[\w.-]{1,128}$/.test(text) ? await whyNoRequest(id) : ''
  if (whyNot === undefined) return `#/requests/${id}`
  const { keys } = await get<KeyPage>(`/admin/keys${query({ search: text, limit: 2 })}`)
  const [only, ...others] = keys
  if (!only && whyNot !== '') throw new Error(`No key matches. ${whyNot}`)
  return only && others.length === 0 ? `#/callers/${only.id}` : undefined
}

/** Why no refused or failed answer with an id can be shown; `undefined` if one can. */
async function whyNoRequest(id: string): Promise<string | undefined> {
  try {
    await get<unknown>(`/admin/requests/${id}`)
    return undefined
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return error.message
    throw error
  }
}

async function orNothing<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}
