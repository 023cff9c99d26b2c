import { randomBytes } from 'node:crypto'
import { withoutTokens } from './log.ts'

/** The beginning of this process's ids, so that no other process gives the same. */
const ownName = randomBytes(8).toString('hex')
let count = 0

/**
 * The caller's own id for its request if it may be logged, else a new one. A token that was sent as an id by mistake
 * may not be logged. New ids have a form of their own, by which `pretty.ts` tells them from a caller's.
 */
export function requestIdFrom(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(header) && !hasToken(header)
    ? header
    : `${ownName}-${(++count).toString(36)}`
}

function hasToken(text: string): boolean {
  return withoutTokens(text) !== text
}
