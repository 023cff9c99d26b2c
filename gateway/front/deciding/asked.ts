import type { IncomingMessage } from 'node:http'
import { METHODS } from '../../../shared/node/http.ts'
import type { AskingProxy } from '../config/asking.ts'

/** The path at which proxies ask. */
export const decidePath = '/decide'

/** The request that a proxy asks about: its method, and its path and query as the caller has sent them. */
export type Asked = Readonly<{ method: string; target: string }>

/** The headers in which each proxy tells method and target. Envoy tells them by the request itself. */
const pairs = {
  nginx: ['X-Original-Method', 'X-Original-URI'],
  caddy: ['X-Forwarded-Method', 'X-Forwarded-Uri'],
  traefik: ['X-Forwarded-Method', 'X-Forwarded-Uri'],
} as const

/** Whether a proxy has asked at the path for it. */
export function isAtDecide({ url = '' }: IncomingMessage, by: AskingProxy): boolean {
  if (by === 'envoy') return url.startsWith(`${decidePath}/`)
  return url === decidePath || url.startsWith(`${decidePath}?`)
}

/** Reads what a proxy asks about; why not, as a sentence. Nothing else is looked at. */
export function askedBy(by: AskingProxy, request: IncomingMessage): Asked | string {
  const { method = '', url = '', rawHeaders } = request
  if (by === 'envoy') return { method, target: url.slice(decidePath.length) }
  const [ofMethod, ofTarget] = pairs[by]
  const asked = { method: onlyOne(rawHeaders, ofMethod), target: onlyOne(rawHeaders, ofTarget) }
  const isWhole = asked.method !== undefined && asked.target !== undefined
  return isWhole
    ? (asked as Asked)
    : `A proxy that asks (decide.for is ${by}) sends ${ofMethod} and ${ofTarget}, each once.`
}

/** Whether a request can have such a method and target at all: what is no visible ASCII never reaches a route. */
export function canBe({ method, target }: Asked): boolean {
  return METHODS.includes(method) && /^[!-~]+$/.test(target)
}

/** The value of a header that comes once; `undefined` if it is missing, empty, or comes several times. */
function onlyOne(rawHeaders: readonly string[], name: string): string | undefined {
  const plain = name.toLowerCase()
  const values = rawHeaders.filter(
    (_value, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === plain,
  )
  return values.length === 1 && values[0] !== '' ? values[0] : undefined
}
