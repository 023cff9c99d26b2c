import type { onSendHookHandler } from 'fastify'
import { rateHeaders } from '../limits/headers.ts'

/** Puts the gateway's own headers on every answer, refusals included, in place of the backend's. */
export function announce({ ietf }: { ietf: boolean }): onSendHookHandler {
  return function announce(request, reply, payload, done): void {
    reply.header('x-request-id', request.id)
    if (request.standing) reply.headers(rateHeaders(request.standing, ietf))
    if (reply.statusCode < 400) reply.removeHeader('retry-after')
    done(null, payload)
  }
}
