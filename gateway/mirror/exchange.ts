import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Route } from '../config/config.ts'
import { asOne, type Headers } from '../forwarding/headers.ts'

/** Conditions depend on the version that a caller has of the present backend's answer. */
const conditions = /^if-(?:none-match|modified-since|match|unmodified-since|range)$/i

/** The answer to a caller, on its way, and all that is needed to ask again. */
export type Exchange = Readonly<{
  method: string
  /** Path and query at the backend. */
  target: string
  requestId: string
  callerId: string
  route: Route
  status: number
  /** The headers that the caller gets. */
  headers: Headers
  body: Buffer | Readable | undefined
  response: ServerResponse
  /** The time to the first byte. */
  ms: number
  /** The headers of a request to the backend with this id, signed now. */
  headersFor: (requestId: string) => string[]
}>

/**
 * Whether an answer of the present backend can be compared: not one that depends on what the caller has, not one of a
 * backend that fails, not one without an end.
 */
export function isComparable(status: number, headers: Headers): boolean {
  if (status === 304 || status === 412 || status >= 500) return false
  return !asOne(headers['content-type'])?.startsWith('text/event-stream')
}

/** Headers, names and values in turn, without the caller's conditions. */
export function unconditional(headers: readonly string[]): string[] {
  return headers.filter((_each, i) => !conditions.test(headers[i - (i % 2)] ?? ''))
}
