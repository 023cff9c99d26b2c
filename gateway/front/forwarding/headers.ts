import type { FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { plainAddress, type Ranges } from '../http/address.ts'
import type { Via } from '../http/via.ts'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import type { Refusal } from '../../../shared/refusal.ts'
import { callerValue } from '../../../shared/caller-value.ts'
import { stateOf } from '../keys/caller.ts'
import type { CallerBody } from './caller-body.ts'
import { cookiesForBackend, cookiesForCaller } from './cookies.ts'
import type { RequestRecord } from '../request-record.ts'
import type { OnItsWay } from './ending.ts'
import { unforwardable } from './refusals.ts'
import { pushSigned } from './signed-headers.ts'
import { dropHeader, hopByHop, isWithheld, plainName, unsendable } from './withheld-headers.ts'

/** Headers of an answer, by their names in lower case. */
type Headers = Record<string, string | string[]>

/** Headers that no caller sees: a backend's limits, its software, and those for its connection alone. */
const withheldFromCaller = new Set(`${hopByHop} server x-powered-by x-request-id`.split(' '))
const familiesWithheldFromCaller = /^(?:(?:x-)?rate-?limit|proxy-|x-gateway-)/

const token = "[\\w!#$%&'*+.^`|~-]+"
/** A media type as RFC 9110 writes it (8.3.1). */
const mediaType = new RegExp(
  `^${token}/${token}(?:[ \\t]*;(?:[ \\t]*${token}=(?:${token}|"(?:[^"\\\\]|\\\\.)*"))?)*$`,
)

const oddCharacter = 'it has a header with a character that HTTP doesn’t allow'
const severalTypes = 'it has several Content-Type headers, and not all are media types'

/** The most names of a `Connection` that are read: more than fit into that of a request (framing.ts). */
const mostNamed = 513

/** Headers that backends check: another spelling must not be taken for one. */
const signed = new Set(['signature', 'signature-input', 'content-digest'])

const isForBackend = rememberedByName(
  (name, spelled) => !isWithheld(name) && (!signed.has(spelled) || name.toLowerCase() === spelled),
)
const isForCaller = rememberedByName(
  (_name, spelled) => !withheldFromCaller.has(spelled) && !familiesWithheldFromCaller.test(spelled),
)

/**
 * The headers for the backend, names and values in turn: the caller's that may pass, those of the configuration, and the
 * gateway's own about the caller. `target` is path and query at the backend.
 */
export function outgoingHeaders(
  sender: OnItsWay,
  target: string,
  body: CallerBody | Buffer | undefined,
): string[] {
  const { forwarding, request, record } = sender
  const { upstream, sign, trustedProxies, withheld, fixedHeaders, via } = forwarding
  const { raw } = request
  const headers = headersForBackend(raw, upstream.settings.passesCookies, withheld)
  if (fixedHeaders) headers.push(...fixedHeaders)
  addForwarded(headers, request, trustedProxies)
  if (via) headers.push('via', via.lineFor(raw.httpVersion))
  const { own, claims } = callerHeaders(record, request.id)
  if (sign) pushSigned(headers, own, claims, sender, { target, body })
  else headers.push(...own, ...(claims ?? []))
  const { answerCost } = forwarding.route
  if (answerCost?.inBody) setHeader(headers, 'accept-encoding', 'identity')
  else if (answerCost) headers.push('te', 'trailers')
  const length = body && raw.headers['content-length']
  if (length !== undefined) headers.push('content-length', length)
  return headers
}

/** The headers that tell a backend of a request's caller, names and values in turn: the gateway's own, and forwarded claims. */
export function callerHeaders({ caller }: RequestRecord, requestId: string) {
  const { id = '', plan = '', account, reference } = caller ?? {}
  const own = ['x-request-id', requestId, 'x-caller-id', id, 'x-caller-plan', plan]
  if (account !== undefined) own.push('x-caller-account', callerValue(account))
  if (reference !== undefined) own.push('x-caller-reference', callerValue(reference))
  const claims = caller && stateOf(caller).outside?.outsider.forwarded
  return { own, claims }
}

/**
 * The headers of a caller's request for the backend, names and values in turn. They begin with an empty
 * Host, which the attempt fills in. Those of `withheld`, plainly spelled, are left out as well.
 */
export function headersForBackend(
  { rawHeaders, headers }: IncomingMessage,
  passesCookies: boolean,
  withheld?: ReadonlySet<string>,
): string[] {
  const named = namesIn(headers.connection)
  const passed: string[] = []
  passed.push('host', '')
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [rawHeaders[i], rawHeaders[i + 1]]
    if (!isForBackend(name) || named?.has(plainName(name))) continue
    if (!withheld?.has(plainName(name))) passed.push(name, value)
  }
  if (passesCookies && headers.cookie !== undefined && !named?.has('cookie')) {
    const cookies = cookiesForBackend(headers.cookie)
    if (cookies !== undefined) passed.push('cookie', cookies)
  }
  return passed
}

/** The headers of keys that only the configuration names, as `headersForBackend` takes them; `undefined` if there are none. */
export function ownKeyHeaders(from: readonly string[]): ReadonlySet<string> | undefined {
  const own = from.map(plainName).filter((name) => !isWithheld(name))
  return own.length > 0 ? new Set(own) : undefined
}

/** Caches by spelled name whether a header may pass. All requests together use few spellings. */
function rememberedByName(
  mayPass: (name: string, spelled: string) => boolean,
): (name: string) => boolean {
  const known = new BoundedMap<boolean>(1_000)
  return (name) => {
    const cached = known.get(name)
    if (cached !== undefined) return cached
    const may = mayPass(name, plainName(name))
    known.set(name, may)
    return may
  }
}

/**
 * Adds the X-Forwarded headers. A trusted proxy's own are continued by one hop. Without `trusted`, the app's
 * `trustProxy` decides.
 */
function addForwarded(
  passed: string[],
  request: FastifyRequest,
  trusted: Ranges | undefined,
): void {
  const { headers, socket } = request.raw
  const peer = plainAddress(socket.remoteAddress ?? '')
  const isProxied = trusted ? trusted.has(peer) : request.ip !== socket.remoteAddress
  const proxied = isProxied ? headers : undefined
  const before = proxied?.['x-forwarded-for']?.toString()
  const proto = trusted ? proxied?.['x-forwarded-proto']?.toString() : request.protocol
  const host = trusted ? proxied?.['x-forwarded-host']?.toString() : request.host
  passed.push('x-forwarded-for', before ? `${before}, ${peer}` : peer)
  passed.push('x-forwarded-proto', proto || ('encrypted' in socket ? 'https' : 'http'))
  passed.push('x-forwarded-host', host || headers.host || '')
}

/** The headers of a backend's answer for the caller; a refusal if they can't be sent. */
export function headersForCaller(
  headers: IncomingHttpHeaders,
  status: number,
  via: Via | undefined,
): Headers | Refusal {
  const named = namesIn(asOne(headers.connection))
  const isBodiless = status === 204 || status === 304
  const passed: Headers = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || !isForCaller(name)) continue
    if (named?.has(plainName(name)) || name === 'content-length') continue
    if (
      typeof value === 'string' ? unsendable.test(value) : value.some((v) => unsendable.test(v))
    ) {
      return unforwardable(name, oddCharacter)
    }
    if (name === 'content-type' && typeof value !== 'string') {
      const type = lastOf(value)
      if (type === undefined) return unforwardable(name, severalTypes)
      passed[name] = type
    } else passed[name] = name === 'set-cookie' ? cookiesForCaller(value) : value
  }
  if (via) passed['via'] = passed['via'] ? `${asOne(passed['via'])}, ${via.line}` : via.line
  // Last, because after a length Node reads a Content-Disposition as UTF-8: it garbles some and refuses others.
  const length = headers['content-length']
  if (length !== undefined && !isBodiless) passed['content-length'] = length
  return passed
}

/** A header as one text, as HTTP reads one that comes several times. */
function asOne(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}

/** The last of several types, as browsers take it; `undefined` if they differ, and one is malformed. */
function lastOf(types: readonly string[]): string | undefined {
  const last = types.at(-1) ?? ''
  const isClear =
    types.every((each) => each === last) || types.every((each) => mediaType.test(each))
  return isClear ? last : undefined
}

/** The headers that a `Connection` header names; `undefined` for `keep-alive` and `close` alone. */
function namesIn(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || /^(?:keep-alive|close)$/i.test(connection)) return undefined
  return new Set(connection.split(',', mostNamed).map((name) => plainName(name.trim())))
}

/** Sets a header among names and values in turn. */
function setHeader(headers: string[], name: string, value: string): void {
  dropHeader(headers, name)
  headers.push(name, value)
}
