import type { SessionView } from '../session.ts'
import { hearGatewayTime } from '../../../front/http/page/utc.ts'

/** The place in the tab's storage of the session's second secret. */
const secretName = 'tollgate-console-secret'

/** A refusal of the admin API, or a failure on the way to it. */
export class ApiError extends Error {
  /** 0 if there was no answer. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Whatever was thrown, as an error of an answer. */
export function asApiError(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown))
}

/** The operator of this tab. */
export type Session = SessionView

/** Called when the session has ended. */
let signedOut: () => void = () => undefined

export function onSignedOut(act: () => void): void {
  signedOut = act
}

/** How long an answer to a reading request may take. */
const patienceMs = 15_000

/** Asks a documented path; resolves to its JSON. */
export async function ask<Answer>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  const answer = await send(method, path, { body, signal, accept: 'application/json' })
  if (!answer.ok) throw await refusalOf(answer)
  const text = await answer.text()
  return (text === '' ? undefined : JSON.parse(text)) as Answer
}

export function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  const late = AbortSignal.timeout(patienceMs)
  return ask('GET', path, undefined, signal ? AbortSignal.any([signal, late]) : late)
}

/** The refusal in an answer. A session that has ended leads to the page for signing in. */
export async function refusalOf(answer: Response): Promise<ApiError> {
  const message = messageIn(await answer.text())
  if (answer.status === 401) signedOut()
  return new ApiError(answer.status, message ?? `The gateway answered ${answer.status}.`)
}

type Sent = Readonly<{
  body?: unknown
  signal?: AbortSignal | undefined
  accept?: string
  /** The hash of the text that may be replaced. */
  ifMatch?: string
}>

/** Asks with the session's secret; the browser adds its cookie. A text is a configuration, anything else is sent as JSON. */
export async function send(method: string, path: string, sent: Sent = {}): Promise<Response> {
  const { body, signal, accept, ifMatch } = sent
  const secret = sessionStorage.getItem(secretName)
  const isText = typeof body === 'string'
  const headers = {
    ...(secret === null ? {} : { 'x-console-secret': secret }),
    ...(accept === undefined ? {} : { accept }),
    ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
    ...(body === undefined
      ? {}
      : { 'content-type': isText ? 'application/yaml' : 'application/json' }),
  }
  try {
    const answer = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      cache: 'no-store',
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
    hearGatewayTime(answer.headers.get('date'))
    return answer
  } catch (error) {
    if (signal?.aborted && !isTimeout(signal.reason)) throw signal.reason
    throw new ApiError(0, sentenceOf(error))
  }
}

function sentenceOf(error: unknown): string {
  return isTimeout(error)
    ? `The gateway hasn’t answered for ${patienceMs / 1_000} s.`
    : 'The gateway doesn’t answer. Is it stopped, or being restarted?'
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError'
}

export async function signIn(token: string): Promise<Session> {
  const { secret, ...session } = await ask<Session & { secret: string }>(
    'POST',
    '/console/session',
    { token },
  )
  sessionStorage.setItem(secretName, secret)
  return session
}

/** The session of this tab, if one runs, or the operator whom a proxy has named to the gateway. */
export async function currentSession(): Promise<Session | undefined> {
  const isNamed = document.body.dataset['named'] !== undefined
  if (!isNamed && sessionStorage.getItem(secretName) === null) return undefined
  try {
    return await get<Session>('/console/session')
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}

export async function signOut(): Promise<void> {
  await ask('DELETE', '/console/session').catch(() => undefined)
  sessionStorage.removeItem(secretName)
  signedOut()
}

/** A query without its empty parameters. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const texts = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return texts.length > 0 ? `?${texts.join('&')}` : ''
}

function messageIn(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' ? message : undefined
  } catch {
    return undefined
  }
}
