import { randomUUID } from 'node:crypto'

/** The caller's own id for its request if it is one that can be logged as it stands, else a new one. */
export function requestIdFrom(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(header)
    ? header
    : randomUUID()
}
