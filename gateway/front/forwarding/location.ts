import type { Route } from '../config/config.ts'

/** The `Location` of a backend's answer for the caller: the backend's own addresses become the gateway's. */
export function locationFor(
  location: string,
  { rewrite, path: own }: Route,
  origins: readonly string[],
): string {
  const path = pathAt(location, origins)
  if (path === undefined) return location
  const isRewritten = rewrite !== undefined && path.startsWith(rewrite.slice(0, -1))
  return isRewritten ? own.slice(0, -1) + path.slice(rewrite.length - 1) : path
}

/** The path of an address at the backend; `undefined` for any other address. */
function pathAt(location: string, origins: readonly string[]): string | undefined {
  const origin = origins.find((each) => location === each || location.startsWith(`${each}/`))
  const path = origin === undefined ? location : location.slice(origin.length) || '/'
  // A path that begins with two slashes would lead to another host.
  return path.startsWith('/') && !/^\/[/\\]/.test(path) ? path : undefined
}
