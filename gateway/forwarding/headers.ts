import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { plainAddress, type Ranges } from '../http/address.ts'
import { BoundedMap } from '../../shared/bounded-map.ts'

/** For one connection only, in either direction. */
const hopByHop =
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings'

/**
 * Never a backend's to see: what is for this connection alone, what a caller proves itself with, and
 * what would tell a backend who or what is asking in another way than the gateway does. Proxies of many makes
 * say so under many names, and some backend believes each of them.
 */
const kept = new Set(
  [
    hopByHop,
    'host content-length expect authorization cookie proxy x-request-id',
    // From which address.
    'x-real-ip x-client-ip client-ip x-cluster-client-ip true-client-ip x-true-client-ip x-originating-ip',
    'cf-connecting-ip cf-connecting-ipv6 cf-pseudo-ipv4 fastly-client-ip fly-client-ip do-connecting-ip',
    'incap-client-ip x-sucuri-clientip x-azure-clientip x-azure-socketip x-nf-client-connection-ip',
    'x-vercel-forwarded-for x-vercel-proxied-for x-proxyuser-ip wl-proxy-client-ip',
    // For which place, by which method.
    'x-rewrite-url x-rewrite-uri x-override-url x-host x-http-host-override x-http-destinationurl',
    'x-scheme x-url-scheme front-end-https x-http-method x-http-method-override x-method-override',
    // By whom, as found out by somebody who is not there.
    'x-anonymous-consumer x-credential-identifier x-arr-clientcert x-client-cert',
  ]
    .join(' ')
    .split(' '),
)
const keptFamilies = new RegExp(
  `^(?:${[
    'x-caller|x-gateway|proxy',
    '(?:x-)?forwarded|x-original|x-envoy|x-appengine',
    '(?:x-)?remote|x-webauth|x-auth-request|x-authenticated|x-authentik|x-consumer|x-pomerium|tailscale-user',
    'cf-access|x-goog-iap|x-goog-authenticated-user|x-ms-client-principal|x-ms-token|x-amzn-oidc|x-amzn-mtls',
    '(?:x-)?ssl|client-cert',
  ].join('|')})(?:-|$)`,
)

/** Never a backend's to say: how a caller stands, what runs behind the gateway, how its connection goes on. */
const dropped = new Set(`${hopByHop} server x-powered-by x-request-id`.split(' '))
const droppedFamilies = /^(?:(?:x-)?rate-?limit|proxy-|x-gateway-)/

/** What Node refuses to send in a header. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/

/** Headers of an answer by their names in small letters. */
export type Headers = Record<string, string | string[]>

/** Whether headers go on, and back, by their names as they are spelled: many requests spell few. */
const isPassedOn = new BoundedMap<boolean>(1_000)
const isPassedBack = new BoundedMap<boolean>(1_000)

/**
 * The headers of a caller's request that its backend sees, names and values in turn. They begin with
 * Host, which is for whoever sends them to fill in.
 */
export function passedOn({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = namesIn(headers.connection)
  const passed: string[] = []
  passed.push('host', '')
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [rawHeaders[i], rawHeaders[i + 1]]
    if (isForBackend(name) && !named?.has(plainName(name))) passed.push(name, value)
  }
  return passed
}

function isForBackend(name: string): boolean {
  const known = isPassedOn.get(name)
  if (known !== undefined) return known
  const spelled = plainName(name)
  const is = !kept.has(spelled) && !keptFamilies.test(spelled)
  isPassedOn.set(name, is)
  return is
}

function isForCaller(name: string): boolean {
  const known = isPassedBack.get(name)
  if (known !== undefined) return known
  const spelled = plainName(name)
  const is = !dropped.has(spelled) && !droppedFamilies.test(spelled)
  isPassedBack.set(name, is)
  return is
}

/** Adds who has asked, by which way and for what: of a trusted proxy, what it says, and one hop more. */
export function addForwarded(
  passed: string[],
  { headers, socket }: IncomingMessage,
  trusted: Ranges,
): void {
  const peer = plainAddress(socket.remoteAddress ?? '')
  const said = trusted.has(peer) ? headers : undefined
  const before = said?.['x-forwarded-for']?.toString() || undefined
  const proto = said?.['x-forwarded-proto']?.toString() || undefined
  const host = said?.['x-forwarded-host']?.toString() || undefined
  passed.push('x-forwarded-for', before === undefined ? peer : `${before}, ${peer}`)
  passed.push('x-forwarded-proto', proto ?? ('encrypted' in socket ? 'https' : 'http'))
  passed.push('x-forwarded-host', host ?? headers.host ?? '')
}

/** The headers of a backend's answer that its caller sees; `undefined` if they can't be sent on. */
export function passedBack(headers: IncomingHttpHeaders, status: number): Headers | undefined {
  const named = namesIn(headers.connection)
  const isBodiless = status === 204 || status === 304
  const passed: Headers = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || !isForCaller(name)) continue
    if (named?.has(plainName(name)) || name === 'content-length') continue
    if (
      typeof value === 'string' ? unsendable.test(value) : value.some((v) => unsendable.test(v))
    ) {
      return undefined
    }
    if (name === 'content-type' && typeof value !== 'string') {
      // The same twice is one. Which of two types is meant, nobody can say.
      const [type = ''] = value
      if (value.some((each) => each !== type)) return undefined
      passed[name] = type
    } else passed[name] = value
  }
  // Behind a length, Node takes a Content-Disposition for bytes of UTF-8: it garbles some and refuses others.
  const length = headers['content-length']
  if (length !== undefined && !isBodiless) passed['content-length'] = length
  return passed
}

/**
 * A name as everybody reads it: servers that make variables of names write `_` for `-`, and some for
 * anything else that is neither letter nor digit.
 */
function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/** The names that a `Connection` header keeps to its connection; none, if it only says how that goes on. */
function namesIn(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || /^(?:keep-alive|close)$/i.test(connection)) return undefined
  return new Set(connection.split(',').map((name) => plainName(name.trim())))
}
