import type { Route } from '../config/config.ts'
import { fixedPart } from '../http/paths.ts'
import { pathFinder } from '../http/path-finder.ts'
import { list, section } from '../http/page/sections.ts'

/** Finds the path at this gateway of a path in a document, by the servers that the document has for it. */
export type GatewayPath = (path: string, servers: unknown) => string

/** The longest path of a server: it stands before each path of the document. */
const mostCharacters = 256

/** Any host: only the path of a URL counts. */
const anyHost = 'http://gateway'

/**
 * The path behind that of the first server, the path alone, or the one that a route with `rewrite` makes the former of: the first
 * that leads to a route. Of several rewrites, the one that replaces most. `prefix` is the path at which an app has the gateway.
 */
export function gatewayPathFinder(routes: readonly Route[], prefix: string): GatewayPath {
  const routeOf = pathFinder(routes)
  const rewrites = routes
    .flatMap(({ path, rewrite }) =>
      rewrite === undefined || path.includes('{')
        ? []
        : [{ from: fixedPart(rewrite), to: fixedPart(path) }],
    )
    .sort((one, other) => other.from.length - one.from.length)
  return (written, servers) => {
    const path = singleSlashed(written)
    const base = pathOf(list(servers)[0])
    const whole = (isBelow(base, prefix) ? base.slice(prefix.length) : base) + path
    const isRouted = (candidate: string): boolean => routeOf(candidate) !== undefined
    const own = [whole, path].find(isRouted)
    if (own !== undefined) return own
    const rewritten = rewrites.filter(({ from }) => isBelow(whole, from))
    const asked = rewritten.map(({ from, to }) => to + whole.slice(from.length))
    return asked.find(isRouted) ?? whole
  }
}

function isBelow(path: string, base: string): boolean {
  return `${path}/`.startsWith(`${base}/`)
}

/** The path of a server's URL, without a slash at its end. */
function pathOf(server: unknown): string {
  const { url, variables } = section(server)
  if (typeof url !== 'string') return ''
  const filled = url.replace(/\{([^{}]*)\}/g, (_all, name: string) => {
    const { default: usual } = section(section(variables)[name])
    return typeof usual === 'string' ? usual : ''
  })
  const path = URL.canParse(filled, anyHost) ? new URL(filled, anyHost).pathname : ''
  const isBase = path.startsWith('/') && path.length <= mostCharacters
  return isBase ? singleSlashed(path).replace(/\/$/, '') : ''
}

/** A path that names no host, as one with two slashes at its start would. */
function singleSlashed(path: string): string {
  return path.replace(/[\\/]+/g, '/')
}
