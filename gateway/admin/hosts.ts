import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { Refusal } from '../../shared/refusal.ts'
import { isLoopback } from '../../shared/serve.ts'
import type { AdminAddress } from '../config/config.ts'

/**
 * Refuses what asks for a name of somebody else's while only this machine can reach the admin address. A page of
 * a foreign site can have its own name lead here, and its visitor's browser would let it read what is told
 * without a token; but the browser then says in `Host` which name it asked for.
 */
export function hostScreen(
  address: AdminAddress,
): (request: IncomingMessage) => Refusal | undefined {
  const known = new Set(address.hosts.map((name) => name.toLowerCase()))
  if (!isLoopback(address.host)) return () => undefined
  return ({ headers: { host } }) => {
    // No browser leaves it out.
    if (host === undefined || isOurs(nameOf(host), known)) return undefined
    return new Refusal(
      'misdirected_request',
      'Ask for this by an address or as localhost, or add its name to admin.hosts.',
    )
  }
}

function isOurs(name: string, known: ReadonlySet<string>): boolean {
  if (known.has(name) || name === 'localhost' || name.endsWith('.localhost')) return true
  return isIP(name) !== 0
}

/** The name or address in a `Host`, without its port. */
function nameOf(host: string): string {
  const [, literal, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? []
  return (literal ?? name).toLowerCase().replace(/\.$/, '')
}
