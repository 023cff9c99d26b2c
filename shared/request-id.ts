import { randomBytes } from 'node:crypto'

/** What this process' ids begin with, so that no other process gives the same. */
const ownName = randomBytes(8).toString('hex')
let count = 0

/**
 * The caller's own id for its request if it is one that can be logged as it stands, else a new one. It is
 * no secret, so it need not be random, which would cost 0.5 µs a request.
 */
export function requestIdFrom(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(header)
    ? header
    : `${ownName}-${(++count).toString(36)}`
}
