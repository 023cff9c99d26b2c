/** A sender's place in a trace, as its `traceparent` tells it. */
export type TraceParent = Readonly<{
  traceId: string
  spanId: string
  /** Whether the sender records its spans, and wishes that others do. */
  isSampled: boolean
}>

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/

/**
 * Reads a `traceparent` by W3C Trace Context; `undefined` if it is missing or malformed. A later version than 00 may have
 * more members, which are ignored. Their length has a limit because the ids keep all of the header in memory.
 */
export function traceParentFrom(header: string | string[] | undefined): TraceParent | undefined {
  if (typeof header !== 'string') return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(header) ?? []
  if (version === undefined || version === 'ff') return undefined
  if (version === '00' && more !== undefined) return undefined
  if (isZero(traceId) || isZero(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** The most characters of a `tracestate` that spans have, which is what every program must take by the same standard. */
const longestState = 512

/** The `tracestate` for spans of a request; `undefined` if it is missing or too long. */
export function traceStateFrom(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && header.length <= longestState ? header : undefined
}

/** The `traceparent` of a recorded span for those that it asks. */
export function traceParent(traceId: string, spanId: string): string {
  return `00-${traceId}-${spanId}-01`
}

/** The trace id of a request's `traceparent`; `undefined` if it is missing or malformed. */
export function traceIdFrom(header: string | string[] | undefined): string | undefined {
  return traceParentFrom(header)?.traceId
}

function isZero(id: string): boolean {
  return /^0+$/.test(id)
}
