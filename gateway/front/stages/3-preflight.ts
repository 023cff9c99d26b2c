import type { onRequestHookHandler } from 'fastify'
import type { Cors } from '../http/cors.ts'
import type { Strangers } from '../limits/strangers.ts'
import type { AddressOf } from '../stranger.ts'

export type PreflightOptions = Readonly<{ cors: Cors; strangers: Strangers; addressOf: AddressOf }>

/** Answers CORS preflights. They carry no key, and cost nothing. */
export function preflight(options: PreflightOptions): onRequestHookHandler {
  const { cors, strangers, addressOf } = options
  return function preflight(request, reply, done): void {
    const headers = cors.preflightHeaders(request.raw)
    if (!headers) return done()
    if (request.tollgate) request.tollgate.stand = strangers.standing(addressOf(request))
    void reply.code(204).headers(headers).send()
  }
}
