import { asOne, type Headers } from '../../front/forwarding/headers.ts'

/** Conditions depend on the version that a caller has of the present backend's answer. */
const conditions = /^if-(?:none-match|modified-since|match|unmodified-since|range)$/i

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
