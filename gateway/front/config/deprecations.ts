import { strict, type Lenience } from '../http/lenience.ts'
import { patternTest } from '../http/paths.ts'

/** A rehearsal of a removal: the operation is refused from `fromMs` to `toMs`. */
export type Brownout = Readonly<{ fromMs: number; toMs: number }>

/** A later sunset for one key, or for all keys of an account. */
export type Extension = Readonly<{
  key?: string | undefined
  account?: string | undefined
  untilMs: number
  /** Whether brownouts spare its callers. */
  spare: boolean
}>

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
  extensions: readonly Extension[]
}>

/** A deprecation as it is for one caller, with its headers, which every answer of its operation has. */
export type Announced = Readonly<{
  deprecation: Deprecation
  /** The sunset for this caller. */
  sunsetMs: number | undefined
  /** The caller's extension. */
  extension: Extension | undefined
  headers: Readonly<Record<string, string>>
  links: readonly string[]
}>

/** A caller as extensions name it; an account is never empty. */
type Holder = Readonly<{ id: string; account: string | undefined }>

/** Finds the deprecation of a request by method and path, in any spelling that the router accepts, for its caller. */
export type FindDeprecation = (
  method: string,
  path: string,
  caller: Holder | undefined,
) => Announced | undefined

/** `lenience` must be the router's: every spelling that reaches a route finds the route's deprecation. */
export function deprecationFinder(
  deprecations: readonly Deprecation[],
  lenience: Lenience = strict,
): FindDeprecation {
  const operations = deprecations.map((deprecation) => {
    const [method = '', pattern = ''] = deprecation.operation.split(' ')
    return {
      method,
      fits: patternTest([pattern], lenience.ignoresCase),
      announcedTo: announcer(deprecation),
    }
  })
  return (method, path, caller) => {
    // HEAD is the same operation as GET.
    const listed = method === 'HEAD' ? 'GET' : method
    const readings = lenience.readingsOf(path)
    return operations
      .find((each) => each.method === listed && readings.some(each.fits))
      ?.announcedTo(caller)
  }
}

/** Each caller's form of a deprecation: by its key's extension, else by its account's. They are made once. */
export function announcer(deprecation: Deprecation): (caller: Holder | undefined) => Announced {
  const general = announcedFrom(deprecation)
  if (deprecation.extensions.length === 0) return () => general
  const [byKey, byAccount] = [new Map<string, Announced>(), new Map<string, Announced>()]
  for (const extension of deprecation.extensions) {
    const { key, account } = extension
    const announced = announcedFrom(deprecation, extension)
    if (key !== undefined) byKey.set(key, announced)
    if (account !== undefined) byAccount.set(account, announced)
  }
  return (caller) =>
    (caller && (byKey.get(caller.id) ?? byAccount.get(caller.account ?? ''))) ?? general
}

function announcedFrom(deprecation: Deprecation, extension?: Extension): Announced {
  const { sinceMs, replacement, docs } = deprecation
  const sunsetMs = extension?.untilMs ?? deprecation.sunsetMs
  return {
    deprecation,
    sunsetMs,
    extension,
    headers: {
      deprecation: `@${Math.floor(sinceMs / 1000)}`,
      ...(sunsetMs === undefined ? {} : { sunset: new Date(sunsetMs).toUTCString() }),
    },
    links: [
      ...(replacement ? [`<${escaped(replacement)}>; rel="successor-version"`] : []),
      ...(docs
        ? [`<${escaped(docs)}>; rel="deprecation"`, `<${escaped(docs)}>; rel="sunset"`]
        : []),
    ],
  }
}

/** A URL in ASCII, as a header needs it. */
function escaped(url: string): string {
  return url.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent)
}
