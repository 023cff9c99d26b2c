import type { Route } from '../config/config.ts'
import { fixedPart } from './rewrite.ts'

/** The `Location` of a backend's answer for the caller: the backend's own addresses become the gateway's. */
export function locationFor(location: string, route: Route, origins: readonly string[]): string {
  const path = pathAt(location, origins)
  return path === undefined ? location : pathFor(path, route)
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
