import { strict, type Lenience } from '../http/lenience.ts'
import { decoded, pathExpression } from '../http/paths.ts'

/** A rehearsal of a removal: the operation is refused from `fromMs` to `toMs`. */
export type Brownout = Readonly<{ fromMs: number; toMs: number }>

/** An operation that callers should stop using, as the configuration announces it. */
export type Deprecation = Readonly<{
  /** A method and a path pattern, such as `GET /v1/pets/{petId}`. */
  operation: string
  sinceMs: number
  sunsetMs?: number | undefined
  /** Where callers should go instead. */
  replacement?: string | undefined
  /** Where the change is explained. */
  docs?: string | undefined
  afterSunset: 'gone' | 'serve'
  brownouts: readonly Brownout[]
}>

/** A deprecation with its headers, which every answer of its operation has. */
export type Announced = Readonly<{
  deprecation: Deprecation
  headers: Readonly<Record<string, string>>
  links: readonly string[]
}>

/** Finds the deprecation of a request by method and path, in any spelling that the router accepts. */
export type FindDeprecation = (method: string, path: string) => Announced | undefined

/** `lenience` must be the router's: every spelling that reaches a route finds the route's deprecation. */
export function deprecationFinder(
  deprecations: readonly Deprecation[],
  lenience: Lenience = strict,
): FindDeprecation {
  const operations = deprecations.map((deprecation) => {
    const [method = '', pattern = ''] = deprecation.operation.split(' ')
    return {
      method,
      expression: expressionOf(pattern, lenience),
      announced: announcedFrom(deprecation),
    }
  })
  if (operations.length === 0) return () => undefined
  return (method, path) => {
    // HEAD is the same operation as GET.
    const listed = method === 'HEAD' ? 'GET' : method
    const plain = lenience.pathOf(decoded(path))
    return operations.find((each) => each.method === listed && each.expression.test(plain))
      ?.announced
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

/** A URL in ASCII, as a header needs it. */
function escaped(url: string): string {
  return url.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent)
}
