import type { Route } from '../config/config.ts'

/**
 * Makes the function that gives the path at the backend. `prefix` stands before the route's own path. What is replaced is
 * counted by its slashes, because a request may spell it with escapes.
 */
export function rewriter(
  { path, rewrite }: Pick<Route, 'path' | 'rewrite'>,
  prefix = '',
): (asked: string) => string {
  if (rewrite === undefined) return (asked) => asked
  const segments = (prefix + fixedPart(path)).split('/').length - 1
  const base = fixedPart(rewrite)
  const replaced = new RegExp(`^(?:/[^/]*){${segments}}`)
  return (asked) => asked.replace(replaced, () => base) || '/'
}

/** The part of a route's path, or of its rewrite, that stands before everything below it. */
export function fixedPart(path: string): string {
  return path.replace(/\/\*?$/, '')
}
