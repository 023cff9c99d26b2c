import { hearGatewayTime } from '../../http/page/utc.ts'
import type { Terms } from '../terms.ts'
import type { Call } from './samples.ts'

/** A request as a form has it, without the key, which is added when it is sent; the path from the root of this host, with its query. */
export type Draft = Omit<Call, 'url' | 'key'> & Readonly<{ path: string }>

export type Answer = Pick<Response, 'status' | 'statusText' | 'headers'> &
  Readonly<{ text: string; ms: number }>

/** The longest text of an answer that is shown. */
const mostCharacters = 100_000

/** The key of the page's reader, and the header in which it is sent. */
export type HeldKey = Readonly<{ token: string; header: Terms['keyHeader'] }>

/** Sends a request with the key, to this host alone. Nothing of it is kept by the browser. */
export async function send(draft: Draft, key: HeldKey | undefined): Promise<Answer> {
  const beganAtMs = performance.now()
  const { method, path, headers, body } = draft
  // A document may name a path such as //host/, which browsers read as another host.
  const { origin, href } = new URL(path, location.origin)
  if (origin !== location.origin) {
    throw new Error(`${path} leads to another host, so the key isn’t sent there.`)
  }
  const answer = await fetch(href, {
    method,
    headers: key ? { ...headers, [key.header.name]: key.header.before + key.token } : headers,
    credentials: 'omit',
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
    ...(body === undefined ? {} : { body }),
  })
  hearGatewayTime(answer.headers.get('date'))
  const text = await answer.text()
  return {
    status: answer.status,
    statusText: answer.statusText,
    headers: answer.headers,
    text: text.slice(0, mostCharacters),
    ms: Math.round(performance.now() - beganAtMs),
  }
}

/** Asks one of the gateway's own endpoints. Throws the refusal's sentence. */
export async function ask<Json>(
  key: HeldKey,
  path: string,
  draft: Partial<Draft> = {},
): Promise<Json> {
  const usual = { method: 'GET', headers: {}, body: undefined }
  const { status, text } = await send({ ...usual, ...draft, path }, key)
  const json: unknown = text === '' ? {} : JSON.parse(text)
  if (status < 400) return json as Json
  const { message } = json as { message?: unknown }
  throw new Error(typeof message === 'string' ? message : `The gateway answered ${status}.`)
}

/** A request as a program sends it: with the URL that the browser makes of its path, on this host whatever the path. */
export function callOf({ path, ...draft }: Draft, key: Terms['keyHeader']): Call {
  const url = new URL(location.origin)
  const [, before = '', query = ''] = /^([^?]*)(.*)$/s.exec(path) ?? []
  url.pathname = before
  url.search = query
  return { ...draft, url: url.href, key }
}

/** The three headers of an answer; `reset` in seconds since 1970. */
export type Reading = Readonly<{ limit: number; remaining: number; reset: number }>

export function readingOf({ headers }: Answer): Reading | undefined {
  const number = (name: string): number => Number(headers.get(`x-ratelimit-${name}`) ?? NaN)
  const reading = {
    limit: number('limit'),
    remaining: number('remaining'),
    reset: number('reset'),
  }
  return Object.values(reading).every(Number.isFinite) ? reading : undefined
}

/** Says that a window is nearly used up, and the percentage that is used; or how many points went beyond what is included. */
type Notice = Readonly<{ window: string; used?: number | string; beyond?: number | string }>

export function noticeText({ window, used, beyond }: Notice): string {
  return beyond === undefined
    ? `${used} % of the ${window} is used.`
    : `${beyond} points are beyond what the ${window} includes.`
}

/** The notice of an answer; `undefined` while nothing is nearly used up. */
export function noticeOf({ headers }: Answer): Notice | undefined {
  const header = headers.get('x-ratelimit-notice') ?? ''
  const [, window, what, number] = /^([a-z]+); (used|beyond)=(\d+)$/.exec(header) ?? []
  if (window === undefined || number === undefined) return undefined
  return what === 'used' ? { window, used: number } : { window, beyond: number }
}
