/**
 * Parts of a path that servers read differently. For some, such as Tomcat, a segment ends at its first `;`, so that
 * `/..;x/` leads up; some decode `%3b` before they look for one.
 */
const ambiguous = /[\\#]|\/\/|\/\.\.?(?:[/;]|%3[Bb]|$)/

/** Escapes of / \ . % and of control characters, which may hide an ambiguous part. */
const hidden = /%(?:2f|5c|2e|25|[01][0-9a-f]|7f)/i

/** Escapes of characters that need no escape. */
const needless = /%(?:2d|3[0-9]|4[1-9a-f]|5[0-9a]|5f|6[1-9a-f]|7[0-9a]|7e)/gi

/** The last plain target: the same one is checked again in a later stage. */
let lastPlain = '/'

/**
 * A request's target with its path in the one spelling that all servers read alike: needless escapes are decoded
 * once, and the query stays byte for byte. `undefined` for an ambiguous path.
 */
export function plainTarget(target: string): string | undefined {
  if (target === lastPlain) return target
  const plain = plainlySpelled(target)
  if (plain !== undefined) lastPlain = plain
  return plain
}

/** The URL of a request in that spelling; as it is where it has none. */
export function plainUrl({ url = '' }: Readonly<{ url?: string | undefined }>): string {
  return plainTarget(url) ?? url
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
 * The texts that servers may take a path for, decoded once; several only where a server that decodes twice would find an end in
 * the middle of the path.
 */
export function readingsOf(path: string): readonly [string, ...string[]] {
  if (!path.includes('%')) return [path]
  const text = decoded(path)
  const end = text.search(/[#?]/)
  return end < 0 ? [text] : [text, text.slice(0, end)]
}

/**
 * A test of readings by patterns: `/v1/pets` matches itself, `{petId}` one segment, and `/v1/*` everything below `/v1/`.
 */
export function patternTest(
  patterns: readonly string[],
  ignoresCase = false,
): (reading: string) => boolean {
  const expressions = patterns.map((pattern) =>
    pathExpression(ignoresCase ? pattern.toLowerCase() : pattern),
  )
  return (reading) => expressions.some((expression) => expression.test(reading))
}

/** A path with its escapes decoded; unchanged if they are invalid. */
export function decoded(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** A path without the names of its parameters: paths of one shape are the same path. */
export function shapeOf(path: string): string {
  return path.replace(/\{\w+\}/g, '{}')
}

/** A pattern as a regular expression over whole paths. */
export function pathExpression(pattern: string): RegExp {
  const rest = pattern.endsWith('/*')
  const segments = (rest ? pattern.slice(0, -2) : pattern).split('/')
  const parts = segments.map((segment) =>
    /^\{\w+\}$/.test(segment) ? '[^/]+' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
  )
  return new RegExp(`^${parts.join('/')}${rest ? '/[^]*' : ''}$`)
}

/** The part of a route's path, of its rewrite or of an app's prefix that stands before everything below it. */
export function fixedPart(path: string): string {
  return path.replace(/\/\*?$/, '')
}

/**
 * Makes the function that puts something in place of a fixed part of paths. What goes is counted by its slashes, because a
 * request may spell it with escapes, and a prefix may have parameters.
 */
export function replacer(fixed: string, by: string): (path: string) => string {
  const expression = new RegExp(`^(?:/[^/]*){${fixed.split('/').length - 1}}`)
  return (path) => path.replace(expression, () => by) || '/'
}
