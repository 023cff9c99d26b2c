import type { IncomingMessage } from 'node:http'

/** Pages of which origins may ask, from browsers; `*` for all. */
export type CorsSettings = Readonly<{ origins: readonly string[] }>

export type Cors = Readonly<{
  /** Whether answers differ by the origin that asks, so that caches must keep them apart. */
  varies: boolean
  /** The headers that let a page read an answer; none for an origin that may not. */
  headersFor: (request: IncomingMessage) => Readonly<Record<string, string>> | undefined
  /** The same for a browser that asks whether it may ask; none for what is no such question. */
  preflightHeaders: (request: IncomingMessage) => Readonly<Record<string, string>> | undefined
}>

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const exposed = [
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, Retry-After',
  'RateLimit, RateLimit-Policy, Deprecation, Sunset, Link, Location',
].join(', ')

/** How long a browser may remember that it may ask. */
const rememberedSeconds = '600'

/** How many origins that may not ask are told apart. */
const mostStrange = 100

/**
 * What browsers are told, or nothing where no origin is configured. `unlisted` hears, once each, of origins that may
 * not ask: all that their pages get to see is that a fetch has failed.
 */
export function corsFrom(
  { origins }: CorsSettings,
  unlisted: (origin: string) => void = () => undefined,
): Cors {
  const all = origins.includes('*')
  const some = new Set(origins)
  const strange = new Set<string>()

  function headersFor({ headers }: IncomingMessage): Record<string, string> | undefined {
    const { origin } = headers
    if (origin === undefined) return undefined
    if (!all && !some.has(origin)) {
      if (strange.size < mostStrange && !strange.has(origin)) unlisted(origin)
      if (strange.size < mostStrange) strange.add(origin)
      return undefined
    }
    return {
      'access-control-allow-origin': all ? '*' : origin,
      'access-control-expose-headers': exposed,
    }
  }

  return {
    varies: !all && some.size > 0,
    headersFor,
    preflightHeaders: (request) => {
      const { method, headers } = request
      const wanted = headers['access-control-request-headers'] ?? ''
      const isAsking =
        method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
      const allowed = isAsking && /^[\w\s,-]*$/.test(wanted) ? headersFor(request) : undefined
      return (
        allowed && {
          ...allowed,
          'access-control-allow-methods': methods,
          'access-control-allow-headers': wanted || 'Authorization, Content-Type',
          'access-control-max-age': rememberedSeconds,
        }
      )
    },
  }
}
