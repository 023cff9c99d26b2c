import { strict, type Lenience } from '../http/lenience.ts'
import { decoded, pathExpression } from '../http/paths.ts'

/** A rehearsal of a removal: within it, the operation is not served. */
export type Brownout = Readonly<{ fromMs: number; toMs: number }>

/** An operation that callers should leave, as operators announce it. */
export type Deprecation = Readonly<{
  /** A method and a path pattern, such as `GET /v1/pets/{petId}`. */
  operation: string
  sinceMs: number
  sunsetMs?: number | undefined
  /** Where callers should go instead. */
  replacement?: string | undefined
  /** Where it is explained. */
  docs?: string | undefined
  afterSunset: 'gone' | 'serve'
  brownouts: readonly Brownout[]
}>

/** A deprecation, and the headers that tell of it on every answer of its operation. */
export type Announced = Readonly<{
  deprecation: Deprecation
  headers: Readonly<Record<string, string>>
  links: readonly string[]
}>

/** Finds the deprecation of a request by method and path, however the path is spelled. */
export type FindDeprecation = (method: string, path: string) => Announced | undefined

/** `lenience` is that of the router before it: whatever that takes for an operation is one. */
export function deprecationFinder(
  deprecations: readonly Deprecation[],
  lenience: Lenience = strict,
): FindDeprecation {
  const known = deprecations.map((deprecation) => {
    const [method = '', pattern = ''] = deprecation.operation.split(' ')
    return {
      method,
      expression: expressionOf(pattern, lenience),
      announced: announcedFrom(deprecation),
    }
  })
  if (known.length === 0) return () => undefined
  return (method, path) => {
    // HEAD asks for what GET would answer.
    const asked = method === 'HEAD' ? 'GET' : method
    const plain = lenience.pathOf(decoded(path))
    return known.find((each) => each.method === asked && each.expression.test(plain))?.announced
  }
}

function expressionOf(pattern: string, { ignoresCase }: Lenience): RegExp {
  const expression = pathExpression(pattern)
  return ignoresCase ? new RegExp(expression, 'i') : expression
}

function announcedFrom(deprecation: Deprecation): Announced {
  const { sinceMs, sunsetMs, replacement, docs } = deprecation
  return {
    deprecation,
    headers: {
      deprecation: `@${Math.floor(sinceMs / 1000)}`,
      ...(sunsetMs === undefined ? {} : { sunset: new Date(sunsetMs).toUTCString() }),
    },
    links: [
      ...(replacement ? [`<${escaped(replacement)}>; rel="successor-version"`] : []),
      ...(docs ? [`<${escaped(docs)}>; rel="deprecation"; type="text/html"`] : []),
    ],
  }
}

/** A URL as a header takes it: in ASCII. */
function escaped(url: string): string {
  return url.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent)
}
