import type { Route } from '../config/config.ts'
import { fixedPart } from '../http/paths.ts'

/**
 * The `Location` of a backend's answer for the caller: the backend's own addresses become the gateway's. `host` is the
 * caller's Host, if the backend knows it: such an address keeps its scheme, because a backend may lead to https.
 */
export function locationFor(
  location: string,
  route: Route,
  origins: readonly string[],
  host?: string,
): string {
  const origin = host === undefined ? '' : originOfHost(location, host)
  if (origin !== '') return origin + locationFor(location.slice(origin.length), route, [])
  const path = pathAt(location, origins)
  return path === undefined ? location : pathFor(path, route)
}

/** The origin of an address, if its host is this one; otherwise an empty text. */
function originOfHost(address: string, host: string): string {
  const [origin = '', named = ''] = /^https?:\/\/([^/?#\\]+)/i.exec(address) ?? []
  return named.toLowerCase() === host.toLowerCase() ? origin : ''
}

/** The path of an address at the backend; `undefined` for any other address. */
function pathAt(location: string, origins: readonly string[]): string | undefined {
  const origin = origins.find((each) => location === each || location.startsWith(`${each}/`))
  const path = origin === undefined ? location : location.slice(origin.length) || '/'
  // A path that begins with two slashes would lead to another host.
  return path.startsWith('/') && !/^\/[/\\]/.test(path) ? path : undefined
}

/** A path at the backend as callers ask for it; a path that the route doesn't lead to stays as it is. */
function pathFor(path: string, { path: own, rewrite }: Route): string {
  if (rewrite === undefined) return path
  const fixed = fixedPart(rewrite)
  return path.startsWith(`${fixed}/`) ? fixedPart(own) + path.slice(fixed.length) : path
}
