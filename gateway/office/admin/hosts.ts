import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { Refusal } from '../../../shared/refusal.ts'
import { isLoopback } from '../../../shared/serve.ts'
import type { AdminAddress } from '../../front/config/config.ts'

type Screen = (request: IncomingMessage) => Refusal | undefined

/**
 * Refuses requests with a foreign `Host` while only this machine can reach the admin address. A web page can resolve its
 * own name to this address, and its visitor's browser would let the page read what needs no token (DNS rebinding). The
 * browser then sends the page's name in `Host`.
 */
export function hostScreen(address: AdminAddress): Screen {
  if (!isLoopback(address.host)) return () => undefined
  const screen = pageScreen(address)
  // Every browser sends it.
  return (request) => (request.headers.host === undefined ? undefined : screen(request))
}

/** Refuses requests of browsers with a foreign `Host`, also where others can reach the admin address. */
export function pageScreen({ hosts }: AdminAddress): Screen {
  const allowed = new Set(hosts.map((name) => name.toLowerCase()))
  return ({ headers: { host = '' } }) => {
    if (isOurs(nameOf(host), allowed)) return undefined
    return new Refusal(
      'misdirected_request',
      'Use an IP address or localhost to reach this, or add the name to admin.hosts.',
    )
  }
}

function isOurs(name: string, allowed: ReadonlySet<string>): boolean {
  if (allowed.has(name) || name === 'localhost' || name.endsWith('.localhost')) return true
  return isIP(name) !== 0
}

/** The name or address in a `Host`, without its port. */
function nameOf(host: string): string {
  const [, literal, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? []
  return (literal ?? name).toLowerCase().replace(/\.$/, '')
}
