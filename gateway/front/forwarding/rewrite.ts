import type { Route } from '../config/config.ts'
import { fixedPart, replacer } from '../http/paths.ts'

/** Makes the function that gives the path at the backend. `prefix` stands before the route's own path. */
export function rewriter(
  { path, rewrite }: Pick<Route, 'path' | 'rewrite'>,
  prefix = '',
): (asked: string) => string {
  if (rewrite === undefined) return (asked) => asked
  return replacer(fixedPart(prefix) + fixedPart(path), fixedPart(rewrite))
}
