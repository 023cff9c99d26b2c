import { isLoopback } from '../../../shared/serve.ts'
import { Ranges } from '../../http/address.ts'
import {
  list,
  mistake,
  section,
  text,
  warning,
  type Quote,
  type Saying,
  type Section,
} from './saying.ts'

/** Two listeners can't have one address, and operators shouldn't be reached by everybody. */
export function* addressSayings(
  file: Section,
  quote: Quote,
  adminToken: boolean,
): Generator<Saying> {
  const callers: Section = { host: '127.0.0.1', port: 8080, ...section(file['listen']) }
  const operators: Section = { host: '127.0.0.1', port: 8081, ...section(file['admin']) }
  const { host, port } = operators
  if (callers['port'] === port && Number(port) > 0 && isOneHost(callers['host'], host)) {
    const isUsual = section(file['admin'])['port'] === undefined
    const [one, other] = isUsual ? ['listen', 'admin'] : ['admin', 'listen']
    const told = quote([other, 'port']) || String(port)
    yield mistake([one, 'port'], `must be another one than ${other}.port, which is ${told}`)
  }
  if (typeof host === 'string' && !isLoopback(host) && !adminToken) {
    const told = quote(['admin', 'host'])
    const sentence = `is ${told}, which others can reach: no gateway starts so unless ADMIN_TOKEN is set`
    yield warning(['admin', 'host'], sentence)
  }
}

/** Whether who listens at one of them is in the way of who listens at the other. */
function isOneHost(one: unknown, other: unknown): boolean {
  if (typeof one !== 'string' || typeof other !== 'string') return false
  const hosts = [one, other].map((host) => host.toLowerCase())
  if (hosts.some((host) => host === '0.0.0.0' || host === '::')) return true
  const [first, second] = hosts.map((host) => (host === 'localhost' ? '127.0.0.1' : host))
  return first === second
}

export function* proxySayings(file: Section, quote: Quote): Generator<Saying> {
  for (const [i, range] of list(file['trustedProxies']).entries()) {
    const written = text(range)
    if (written === undefined) continue
    try {
      new Ranges([written])
    } catch {
      const expected = 'must be an address or a range such as 10.0.0.0/8 or 2001:db8::/32'
      const place = ['trustedProxies', i] as const
      yield mistake(place, `${expected}, got "${quote(place)}"`)
    }
  }
}

/** Browsers spell an origin in one way, and it is compared letter by letter. */
export function* originSayings(file: Section, quote: Quote): Generator<Saying> {
  for (const [i, origin] of list(section(file['cors'])['origins']).entries()) {
    const place = ['cors', 'origins', i] as const
    const written = text(origin)
    if (written === undefined || !/^https?:\/\/[^/?#@\s]+$/.test(written)) continue
    if (written.includes('*')) {
      const expected = "must be an origin without *, or '*' for all"
      yield mistake(place, `${expected}, got "${quote(place)}"`)
    } else if (!URL.canParse(written) || new URL(written).origin !== written) {
      const told = quote(place)
      const isOne = URL.canParse(written) && told === written
      const hint = isOne ? `; did you mean ${new URL(written).origin}?` : ''
      yield mistake(place, `must be an origin as browsers spell it, got "${told}"${hint}`)
    }
  }
}
