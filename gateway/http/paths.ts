/**
 * What makes a path mean different things to different readers. To some, Tomcat among them, a segment ends
 * at its first `;`, so that `/..;x/` leads up; some undo `%3b` before they look for one.
 */
const ambiguous = /[\\#]|\/\/|\/\.\.?(?:[/;]|%3[Bb]|$)/

/** Escapes that hide what is ambiguous, or a control character: / \ . % and everything below a space. */
const hidden = /%(?:2f|5c|2e|25|[01][0-9a-f]|7f)/i

/** An escape of a character that needs none. */
const needless = /%(?:2d|3[0-9]|4[1-9a-f]|5[0-9a]|5f|6[1-9a-f]|7[0-9a]|7e)/gi

/** The last target that was found to be plain; it is asked for again as it goes through the stages. */
let lastPlain = '/'

/**
 * A request's target with its path spelled in the one way that all readers agree on: needless escapes
 * are undone, once, and the query stays byte for byte. `undefined` if there is no such way.
 */
export function plainTarget(target: string): string | undefined {
  if (target === lastPlain) return target
  const plain = plainlySpelled(target)
  if (plain !== undefined) lastPlain = plain
  return plain
}

function plainlySpelled(target: string): string | undefined {
  const query = target.indexOf('?')
  const path = query < 0 ? target : target.slice(0, query)
  if (!path.startsWith('/') || ambiguous.test(path)) return undefined
  if (!path.includes('%')) return target
  if (/%(?![0-9a-f]{2})/i.test(path) || hidden.test(path)) return undefined
  const plain = path.replace(needless, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
  )
  return query < 0 ? plain : plain + target.slice(query)
}

/**
 * Whether a path is one of some patterns: `/v1/pets` is itself alone, `{petId}` is one segment, and
 * `/v1/*` is everything below `/v1/`. A path that is spelled in more than one way fits none: who
 * restricts, means what is written.
 */
export function pathMatcher(patterns: readonly string[]): (path: string) => boolean {
  const expressions = patterns.map(pathExpression)
  return (path) =>
    !path.includes('%') &&
    !ambiguous.test(path) &&
    expressions.some((expression) => expression.test(path))
}

/** A path with its escapes undone, as routes and operations are written; as it is, if they can't be undone. */
export function decoded(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
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
