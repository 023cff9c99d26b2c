import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, ask, get, query } from './api.ts'
import { html } from '../../../front/http/page/html.ts'
import { useWork } from '../../../front/http/page/work.ts'
import { failure } from './page-parts.ts'
import { isJwt, judgedJwt } from './pages/jwt.ts'
import type { FoundKey } from '../../operations/keys/find.ts'
import type { JudgedToken } from '../../operations/jwt/judged.ts'
import type { KeyPage } from '../../operations/keys/list.ts'

/**
 * A field that finds whatever a customer has sent: a name, an account, an id of a key or of a request, or a whole token.
 * What leads to no page by itself goes to `list`. It has the focus when the console opens.
 */
export function Search({ list }: { list: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null)
  const { isBusy, error, run, forget } = useWork()
  const [judged, setJudged] = useState<JudgedToken>()
  const forgetAll = (): void => {
    forget()
    setJudged(undefined)
  }
  useEffect(() => {
    field.current?.focus()
    addEventListener('hashchange', forgetAll)
    return () => removeEventListener('hashchange', forgetAll)
  }, [])
  const go = async (event: Event): Promise<void> => {
    event.preventDefault()
    const text = field.current?.value.trim() ?? ''
    setJudged(undefined)
    const isDone = await run(() => follow(text))
    if (isDone && field.current?.value.trim() === text) field.current.value = ''
  }
  const follow = async (text: string): Promise<void> => {
    // A token doesn't stay in the page, whatever the answer is.
    if ((isJwt(text) || isToken(text)) && field.current) field.current.value = ''
    if (isJwt(text)) {
      return setJudged(await ask<JudgedToken>('POST', '/admin/jwt/check', { token: text }))
    }
    const page = text === '' ? undefined : await placeOf(text)
    if (page !== undefined) location.hash = page
    else if (isToken(text)) throw new Error('No key has this token.')
    else list(text)
  }
  return html`
    <div class="find" role="search">
      <form aria-busy=${isBusy} onSubmit=${(event: Event) => void go(event)}>
        <label class="unseen" for="search">What did the customer send?</label>
        <input
          id="search"
          ref=${field}
          type="search"
          autocomplete="off"
          spellcheck=${false}
          placeholder="Find: name, account, note, key id, X-Request-Id or token"
        />
        <button disabled=${isBusy}>Find</button>
      </form>
      ${error !== undefined && failure(error)} ${judged && judgedJwt(judged)}
    </div>
  `
}

function isToken(text: string): boolean {
  return /^tg_\w{12}_\w+$/.test(text)
}

/** The page about what a text names; `undefined` if it names nothing by itself. */
async function placeOf(text: string): Promise<string | undefined> {
  if (isToken(text)) {
    const answer = await orWhyNot(ask<FoundKey>('POST', '/admin/keys/find', { token: text }))
    return typeof answer === 'string' ? undefined : `#/keys/${answer.key.id}`
  }
  const id = encodeURIComponent(text)
  const isId = /^[\w.-]{1,128}$/.test(text)
  const whyNoRequest = isId ? await orWhyNot(get<object>(`/admin/requests/${id}`)) : ''
  if (typeof whyNoRequest !== 'string') return `#/requests/${id}`
  const { keys } = await get<KeyPage>(`/admin/keys${query({ search: text, limit: 2 })}`)
  const [only, ...others] = keys
  if (!only && whyNoRequest !== '') throw new Error(`No key matches. ${whyNoRequest}`)
  return only && others.length === 0 ? `#/keys/${only.id}` : undefined
}

/** An answer, or why there is none of what was asked for. */
async function orWhyNot<Answer extends object>(asked: Promise<Answer>): Promise<Answer | string> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return error.message
    throw error
  }
}
