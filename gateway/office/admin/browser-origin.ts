import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../../shared/refusal.ts'
import { consoleCookie } from '../../front/forwarding/cookies.ts'
import { clientAddress, plainAddress, Ranges } from '../../front/http/address.ts'

/** How a browser reached the admin address: from which address, by https or not, and as which origin. */
export type BrowserOrigin = Readonly<{ address: string; isHttps: boolean; origin: string }>

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
  { origin }: Pick<BrowserOrigin, 'origin'>,
): Refusal | undefined {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin' || (site === undefined && headers.origin === origin)) return undefined
  return new Refusal(
    'forbidden',
    'Only the console’s own page may ask this: the browser must send Sec-Fetch-Site: same-origin, or the Origin of this address. Browsers do over https and at localhost.',
  )
}

/** The name of the console's cookie. Over https no other port or host can set one with this prefix. */
function cookieNameFor({ isHttps }: Pick<BrowserOrigin, 'isHttps'>): string {
  return isHttps ? `__Host-${consoleCookie}` : consoleCookie
}

/** The most cookies of one name that are looked at. Any server on another port of the host may have set one, too. */
const mostCookies = 8

/** The values of the console's cookies in a request. */
export function cookiesIn(header: string | undefined, visit: BrowserOrigin): string[] {
  const ofConsole = new RegExp(`(?:^|;)\\s*${cookieNameFor(visit)}=([^;=]*)`, 'g')
  const values: string[] = []
  for (const [, value = ''] of (header ?? '').matchAll(ofConsole)) {
    if (values.push(value.trim()) === mostCookies) break
  }
  return values
}

/** The `Set-Cookie` of a session; with no value and no time it takes the cookie away. */
export function setCookie(visit: BrowserOrigin, value: string, lastsMs: number): string {
  const seconds = Math.ceil(lastsMs / 1_000)
  const secure = visit.isHttps ? 'Secure; ' : ''
  return `${cookieNameFor(visit)}=${value}; ${secure}HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`
}
