/**
 * Whether a path is one of some patterns: `/v1/pets` is itself alone, `{petId}` is one segment, and
 * `/v1/*` is everything below `/v1/`.
 */
export function pathMatcher(patterns: readonly string[]): (path: string) => boolean {
  const expressions = patterns.map(pathExpression)
  return (path) => isPlain(path) && expressions.some((expression) => expression.test(path))
}

/** A path that is spelled in more than one way fits no pattern: who restricts, means what is written. */
function isPlain(path: string): boolean {
  return !/[%#\\]|\/\/|\/\.\.?(?:\/|$)/.test(path)
}

/** What a pattern means, as an expression over whole paths. */
export function pathExpression(pattern: string): RegExp {
  const rest = pattern.endsWith('/*')
  const segments = (rest ? pattern.slice(0, -2) : pattern).split('/')
  const parts = segments.map((segment) =>
    /^\{\w+\}$/.test(segment) ? '[^/]+' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
  )
  return new RegExp(`^${parts.join('/')}${rest ? '/.*' : ''}$`)
}
