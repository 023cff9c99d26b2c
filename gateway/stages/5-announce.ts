import type { onSendHookHandler } from 'fastify'

/** Puts the gateway's own headers on every answer, refusals included. */
export function announce(): onSendHookHandler {
  return function announce(request, reply, payload, done): void {
    reply.header('x-request-id', request.id)
    done(null, payload)
  }
}
