import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { plainAddress, type Ranges } from '../http/address.ts'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import type { Refusal } from '../../../shared/refusal.ts'
import { cookiesForBackend, cookiesForCaller } from './cookies.ts'
import { unforwardable } from './refusals.ts'

/** Headers for one connection only, in either direction. */
const hopByHop =
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings'

/**
 * Headers that no backend sees: those for this connection alone, a caller's credentials, and those in which
 * proxies tell address, user, certificate, URL or method. Such headers have many names, each is believed by
 * some backend, and only the gateway may say these things.
 */
const withheldFromBackend = new Set(
  [
    hopByHop,
    'host content-length expect authorization cookie proxy x-request-id',
    // The client's address.
    'x-real-ip x-client-ip client-ip x-cluster-client-ip true-client-ip x-true-client-ip x-originating-ip',
    'cf-connecting-ip cf-connecting-ipv6 cf-pseudo-ipv4 fastly-client-ip fly-client-ip do-connecting-ip',
    'incap-client-ip x-sucuri-clientip x-azure-clientip x-azure-socketip x-nf-client-connection-ip',
    'x-vercel-forwarded-for x-vercel-proxied-for x-proxyuser-ip wl-proxy-client-ip',
    // URL and method.
    'x-rewrite-url x-rewrite-uri x-override-url x-host x-http-host-override x-http-destinationurl',
    'x-scheme x-url-scheme front-end-https x-http-method x-http-method-override x-method-override',
    // A user or certificate that another proxy would have checked.
    'x-anonymous-consumer x-credential-identifier x-arr-clientcert x-client-cert',
  ]
    .join(' ')
    .split(' '),
)
const familiesWithheldFromBackend = new RegExp(
  `^(?:${[
    'x-caller|x-gateway|proxy',
    '(?:x-)?forwarded|x-original|x-envoy|x-appengine',
    '(?:x-)?remote|x-webauth|x-auth-request|x-authenticated|x-authentik|x-consumer|x-pomerium|tailscale-user',
    'cf-access|x-goog-iap|x-goog-authenticated-user|x-ms-client-principal|x-ms-token|x-amzn-oidc|x-amzn-mtls',
    '(?:x-)?ssl|client-cert',
  ].join('|')})(?:-|$)`,
)

/** Headers that no caller sees: a backend's limits, its software, and those for its connection alone. */
const withheldFromCaller = new Set(`${hopByHop} server x-powered-by x-request-id`.split(' '))
const familiesWithheldFromCaller = /^(?:(?:x-)?rate-?limit|proxy-|x-gateway-)/

/** Characters that Node refuses to send in a header. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/

const token = "[\\w!#$%&'*+.^`|~-]+"
/** A media type as RFC 9110 writes it (8.3.1). */
const mediaType = new RegExp(
  `^${token}/${token}(?:[ \\t]*;(?:[ \\t]*${token}=(?:${token}|"(?:[^"\\\\]|\\\\.)*"))?)*$`,
)

const oddCharacter = 'it has a header with a character that HTTP doesn’t allow'
const severalTypes = 'it has several Content-Type headers, and not all are media types'

/** Headers of an answer, by their names in lower case. */
export type Headers = Record<string, string | string[]>

/** Caches by spelled name whether a header may pass. All requests together use few spellings. */
const isPassedOn = new BoundedMap<boolean>(1_000)
const isPassedBack = new BoundedMap<boolean>(1_000)

/**
 * The headers of a caller's request for the backend, names and values in turn. They begin with an empty
 * Host, which the attempt fills in.
 */
export function headersForBackend(
  { rawHeaders, headers }: IncomingMessage,
  passesCookies: boolean,
): string[] {
  const named = namesIn(headers.connection)
  const passed: string[] = []
  passed.push('host', '')
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [rawHeaders[i], rawHeaders[i + 1]]
    if (isForBackend(name) && !named?.has(plainName(name))) passed.push(name, value)
  }
  if (passesCookies && headers.cookie !== undefined && !named?.has('cookie')) {
    const cookies = cookiesForBackend(headers.cookie)
    if (cookies !== undefined) passed.push('cookie', cookies)
  }
  return passed
}

function isForBackend(name: string): boolean {
  const cached = isPassedOn.get(name)
  if (cached !== undefined) return cached
  const spelled = plainName(name)
  const may = !withheldFromBackend.has(spelled) && !familiesWithheldFromBackend.test(spelled)
  isPassedOn.set(name, may)
  return may
}

function isForCaller(name: string): boolean {
  const cached = isPassedBack.get(name)
  if (cached !== undefined) return cached
  const spelled = plainName(name)
  const may = !withheldFromCaller.has(spelled) && !familiesWithheldFromCaller.test(spelled)
  isPassedBack.set(name, may)
  return may
}

/** Adds the X-Forwarded headers. A trusted proxy's own are continued by one hop. */
export function addForwarded(
  passed: string[],
  { headers, socket }: IncomingMessage,
  trusted: Ranges,
): void {
  const peer = plainAddress(socket.remoteAddress ?? '')
  const proxied = trusted.has(peer) ? headers : undefined
  const before = proxied?.['x-forwarded-for']?.toString() || undefined
  const proto = proxied?.['x-forwarded-proto']?.toString() || undefined
  const host = proxied?.['x-forwarded-host']?.toString() || undefined
  passed.push('x-forwarded-for', before === undefined ? peer : `${before}, ${peer}`)
  passed.push('x-forwarded-proto', proto ?? ('encrypted' in socket ? 'https' : 'http'))
  passed.push('x-forwarded-host', host ?? headers.host ?? '')
}

/** The headers of a backend's answer for the caller; a refusal if they can't be sent. */
export function headersForCaller(headers: IncomingHttpHeaders, status: number): Headers | Refusal {
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
  // Last, because after a length Node reads a Content-Disposition as UTF-8: it garbles some and refuses others.
  const length = headers['content-length']
  if (length !== undefined && !isBodiless) passed['content-length'] = length
  return passed
}

/** A header as one text, as HTTP reads one that comes several times. */
export function asOne(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}

/** The last of several types, as browsers take it; `undefined` if they differ, and one is malformed. */
function lastOf(types: readonly string[]): string | undefined {
  const last = types.at(-1) ?? ''
  const isClear =
    types.every((each) => each === last) || types.every((each) => mediaType.test(each))
  return isClear ? last : undefined
}

/**
 * A name in the form in which all servers agree: some turn `-`, or any character but letters and digits, into
 * `_` when they make variables of headers.
 */
function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/** The headers that a `Connection` header names; `undefined` for `keep-alive` and `close` alone. */
function namesIn(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || /^(?:keep-alive|close)$/i.test(connection)) return undefined
  return new Set(connection.split(',').map((name) => plainName(name.trim())))
}
