import type { Route } from '../config/config.ts'

/** Makes the function that gives the path at the backend. `skipped` is the length of what stands before the route's own. */
export function rewriter(
  { path, rewrite }: Pick<Route, 'path' | 'rewrite'>,
  skipped = 0,
): (asked: string) => string {
  if (rewrite === undefined) return (asked) => asked
  const from = skipped + fixedPart(path).length
  const base = fixedPart(rewrite)
  return (asked) => base + asked.slice(from) || '/'
}

/** The part of a route's path, or of its rewrite, that stands before everything below it. */
export function fixedPart(path: string): string {
  return path.replace(/\/\*?$/, '')
}
