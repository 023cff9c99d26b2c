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

/** The operator of this tab. */
export type Session = Readonly<{ name: string; role: 'read' | 'support' | 'all' }>

/** Called when the session has ended. */
let signedOut: () => void = () => undefined

export function onSignedOut(act: () => void): void {
  signedOut = act
}

/** Asks a documented path; resolves to its JSON. */
export async function ask<Answer>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  const answer = await send(method, path, body, signal)
  if (answer.status === 204) return undefined as Answer
  const text = await answer.text()
  if (answer.ok) return (text === '' ? undefined : JSON.parse(text)) as Answer
  if (answer.status === 401) signedOut()
  throw new ApiError(answer.status, messageIn(text) ?? `The gateway answered ${answer.status}.`)
}

export function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return ask<Answer>('GET', path, undefined, signal)
}

/** Asks with the session's secret; the browser adds its cookie. A text is a configuration, anything else is sent as JSON. */
export async function send(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const secret = sessionStorage.getItem(secretName)
  const isText = typeof body === 'string'
  const headers = {
    ...(secret === null ? {} : { 'x-console-secret': secret }),
    ...(body === undefined
      ? {}
      : { 'content-type': isText ? 'application/yaml' : 'application/json' }),
  }
  try {
    return await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      cache: 'no-store',
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'The gateway doesn’t answer. Is it stopped, or being restarted?')
  }
}

export async function signIn(token: string): Promise<Session> {
  const { secret, ...session } = await ask<Session & { secret: string }>(
    'POST',
    '/console/session',
    {
      token,
    },
  )
  sessionStorage.setItem(secretName, secret)
  return session
}

/** The session of this tab, if one runs. */
export async function currentSession(): Promise<Session | undefined> {
  if (sessionStorage.getItem(secretName) === null) return undefined
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
