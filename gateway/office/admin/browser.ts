import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../../shared/refusal.ts'
import type { Config } from '../../front/config/config.ts'
import { consoleCookie } from '../../front/forwarding/cookies.ts'
import { clientAddress, plainAddress, Ranges } from '../../front/http/address.ts'
import { pageScreen } from './hosts.ts'
import { misnamed, signedOut } from './refusals.ts'
import type { Session, Sessions } from './session.ts'
import type { Operator } from './token.ts'

/** The operator of a request, and the headers that its answer needs. */
export type Found = Readonly<{ operator: Operator; headers: Readonly<Record<string, string>> }>

/** The longest name, in characters. */
const longestName = 128

/** Finds the operators of requests that bring no token: those of browsers. */
export class Browsers {
  readonly #config: () => Config
  readonly #sessions: Sessions

  /** Finds them by the configuration in force. */
  constructor(config: () => Config, sessions: Sessions) {
    this.#config = config
    this.#sessions = sessions
  }

  /**
   * The operator whom an authenticating proxy names in the header of `admin.trust`, or why nobody can be; `undefined` of a request
   * that no such proxy names. Only the socket's address tells who has written the header. A change needs a browser that says that
   * the console's own page has sent it: whatever the proxy knows somebody by, such as a cookie, goes along with the requests of
   * any page.
   */
  named(request: IncomingMessage): Found | Refusal | undefined {
    const { admin, trustedProxies } = this.#config()
    const { trust } = admin
    const { method, socket } = request
    if (!trust || !new Ranges(trust.from).has(plainAddress(socket.remoteAddress ?? ''))) {
      return undefined
    }
    // Node would make one of several.
    const [value, ...others] = request.headersDistinct[trust.header] ?? []
    if (value === undefined) return undefined
    const name = others.length === 0 ? nameIn(value) : undefined
    if (name === undefined) return misnamed(trust.header, longestName)
    const role = trust.roles.get(name) ?? trust.roles.get('*')
    if (role === undefined)
      return new Refusal('forbidden', `admin.trust names no role for ${name}.`)
    const isRead = method === 'GET' || method === 'HEAD'
    const fault = isRead
      ? undefined
      : originFault(request, browserOriginOf(request, trustedProxies))
    return pageScreen(admin)(request) ?? fault ?? { operator: { name, role }, headers: privately }
  }

  /**
   * The operator of a session: it needs the cookie, the secret, and a browser that says that the console's own page has sent it,
   * also for GET. Gives a refusal if something of this is wrong, and nothing without a cookie.
   */
  signedIn(request: IncomingMessage): Found | Refusal | undefined {
    const { headers } = request
    if (headers.cookie === undefined) return undefined
    const { admin, trustedProxies } = this.#config()
    const visit = browserOriginOf(request, trustedProxies)
    const cookies = cookiesIn(headers.cookie, visit)
    if (cookies.length === 0) return undefined
    const fault = pageScreen(admin)(request) ?? originFault(request, visit)
    if (fault) return fault
    const found = this.#sessions.find(cookies, String(headers['x-console-secret'] ?? ''))
    if (!found) return signedOut()
    const { session, cookie } = found
    const renewed =
      cookie === undefined ? {} : { 'set-cookie': sessionCookie(visit, cookie, session) }
    return { operator: session, headers: { ...privately, ...renewed } }
  }
}

/** Headers of answers to the console's page: no cache keeps them, and no other page may include them. */
export const privately = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

/** The name in a value, which comes as bytes of UTF-8. */
function nameIn(value: string): string | undefined {
  // Node reads each byte as a character.
  const bytes = Buffer.from(value, 'latin1')
  const text = isUtf8(bytes) ? bytes.toString().trim() : ''
  const isName = text !== '' && [...text].length <= longestName
  return isName && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text) ? text : undefined
}

/** How a browser reached the admin address: from which address, by https or not, and as which origin. */
type BrowserOrigin = Readonly<{ address: string; isHttps: boolean; origin: string }>

/** The visit of a request. Only a trusted proxy is believed how its client came, and from which address. */
export function browserOriginOf(
  request: IncomingMessage,
  trustedProxies: readonly string[],
): BrowserOrigin {
  const { headers, socket } = request
  const trusted = new Ranges(trustedProxies)
  const [proto = ''] = String(headers['x-forwarded-proto'] ?? '').split(',')
  const isTold = proto !== '' && trusted.has(plainAddress(socket.remoteAddress ?? ''))
  const isHttps = isTold ? proto.trim().toLowerCase() === 'https' : 'encrypted' in socket
  const origin = `${isHttps ? 'https' : 'http'}://${(headers.host ?? '').toLowerCase()}`
  return { address: clientAddress(request, trusted), isHttps, origin }
}

/**
 * Refuses a request that a page of another origin may have sent. Other ports of the host are the same site, and get the
 * cookie, so only `same-origin` is enough; where a browser doesn't tell, its `Origin` must be this one.
 */
export function originFault(
  { headers }: IncomingMessage,
  { origin }: BrowserOrigin,
): Refusal | undefined {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin' || (site === undefined && headers.origin === origin)) return undefined
  return new Refusal(
    'forbidden',
    'Only the console’s own page may ask this: the browser must send Sec-Fetch-Site: same-origin, or the Origin of this address. Browsers do over https and at localhost.',
  )
}

/** The name of the console's cookie. Over https no other port or host can set one with this prefix. */
function cookieNameFor({ isHttps }: BrowserOrigin): string {
  return isHttps ? `__Host-${consoleCookie}` : consoleCookie
}

/** The most cookies of one name that are looked at. Any server on another port of the host may have set one, too. */
const mostCookies = 8

/** The values of the console's cookies in a request. */
export function cookiesIn(header: string, visit: BrowserOrigin): string[] {
  const ofConsole = new RegExp(`(?:^|;)\\s*${cookieNameFor(visit)}=([^;=]*)`, 'g')
  const values = [...header.matchAll(ofConsole)].map(([, value = '']) => value.trim())
  return values.slice(0, mostCookies)
}

/** The `Set-Cookie` of a session that has just been seen; without one it takes the cookie away. */
export function sessionCookie(visit: BrowserOrigin, value = '', session?: Session): string {
  const seconds = session ? Math.ceil((session.endsAtMs - session.seenAtMs) / 1_000) : 0
  const secure = visit.isHttps ? 'Secure; ' : ''
  return `${cookieNameFor(visit)}=${value}; ${secure}HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`
}
