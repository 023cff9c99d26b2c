import type { IncomingMessage } from 'node:http'
import { usualMethods } from './methods.ts'

/** The origins whose pages may send requests from browsers; `*` allows all. */
export type CorsSettings = Readonly<{ origins: readonly string[] }>

export type Cors = Readonly<{
  /** Whether answers differ by origin, so that caches must keep them apart. */
  varies: boolean
  /** The headers that let a page read an answer; `undefined` for an origin that isn't allowed. */
  headersFor: (request: IncomingMessage) => Readonly<Record<string, string>> | undefined
  /** The headers of a preflight's answer; `undefined` for other requests and origins that aren't allowed. */
  preflightHeaders: (request: IncomingMessage) => Readonly<Record<string, string>> | undefined
}>

const methods = usualMethods.filter((method) => method !== 'OPTIONS').join(', ')
const exposed = [
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Notice',
  'X-Gateway-Acted, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, Link, Location, Accept-Query',
].join(', ')

/** How long a browser may cache a preflight. */
const rememberedSeconds = '600'

/** The most unlisted origins that are remembered and reported. */
const mostUnlisted = 100

/**
 * The CORS headers of a configuration; none without `cors.origins`. `keyHeaders` are those in which keys come. `unlisted` is called once for each origin that
 * isn't allowed, because its pages only see that a fetch has failed.
 */
export function corsFrom(
  { origins }: CorsSettings,
  keyHeaders: readonly string[],
  unlisted: (origin: string) => void = () => undefined,
): Cors {
  const usual = [...keyHeaders, 'Content-Type'].join(', ')
  const all = origins.includes('*')
  const some = new Set(origins)
  const reported = new Set<string>()

  function headersFor({ headers }: IncomingMessage): Record<string, string> | undefined {
    const { origin } = headers
    if (origin === undefined) return undefined
    if (!all && !some.has(origin)) {
      if (reported.size < mostUnlisted && !reported.has(origin)) unlisted(origin)
      if (reported.size < mostUnlisted) reported.add(origin)
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
          'access-control-allow-headers': wanted || usual,
          'access-control-max-age': rememberedSeconds,
        }
      )
    },
  }
}
