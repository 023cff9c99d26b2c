import type { IncomingMessage } from 'node:http'
import { usualMethods } from './methods.ts'

export type CorsSettings = Readonly<{
  /** The origins whose pages may send requests from browsers; `*` allows all. */
  origins: readonly string[]
  /** More headers that these pages may read. */
  expose: readonly string[]
}>

/** A header as Fastify keeps it until it is sent. */
type KeptHeader = string | number | string[] | undefined

export type Cors = Readonly<{
  /** Whether answers differ by origin, so that caches must keep them apart. */
  varies: boolean
  /** The headers that let a page read an answer; `undefined` for an origin that isn't allowed. */
  headersFor: (request: IncomingMessage) => Readonly<Record<string, string>> | undefined
  /** The headers that a page may read, with those that the backend names. */
  exposed: (byBackend: KeptHeader) => string
  /** The headers of a preflight's answer; `undefined` for other requests and origins that aren't allowed. */
  preflightHeaders: (request: IncomingMessage) => Readonly<Record<string, string>> | undefined
}>

const methods = usualMethods.filter((method) => method !== 'OPTIONS').join(', ')
const alwaysExposed = [
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Notice',
  'X-Gateway-Acted, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, Link, Location, Accept-Query',
].join(', ')

/** How long a browser may cache a preflight. */
const rememberedSeconds = '600'

/** The most headers of a list that are read. */
const mostNamed = 100

/** The most unlisted origins that are remembered and reported. */
const mostUnlisted = 100

/**
 * The CORS headers of a configuration; none without `cors.origins`. `keyHeaders` are those in which keys come. `unlisted` is called once for each origin that
 * isn't allowed, because its pages only see that a fetch has failed.
 */
export function corsFrom(
  { origins, expose }: CorsSettings,
  keyHeaders: readonly string[],
  unlisted: (origin: string) => void = () => undefined,
): Cors {
  const usual = [...keyHeaders, 'Content-Type'].join(', ')
  const all = origins.includes('*')
  const exposed = joined(alwaysExposed, expose.join(), all)
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
    return { 'access-control-allow-origin': all ? '*' : origin }
  }

  return {
    varies: !all && some.size > 0,
    headersFor,
    exposed: (byBackend) =>
      byBackend === undefined ? exposed : joined(exposed, String(byBackend), all),
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

/** A list of headers, and behind it those of another list that it lacks, each once. A `*` passes if all origins are allowed. */
function joined(list: string, other: string, all: boolean): string {
  const spelled = new Map(list.split(', ').map((name) => [name.toLowerCase(), name]))
  for (const part of other.split(',', mostNamed)) {
    const name = part.trim()
    const isMeant = name !== '' && (all || name !== '*')
    if (isMeant && !spelled.has(name.toLowerCase())) spelled.set(name.toLowerCase(), name)
  }
  return [...spelled.values()].join(', ')
}
