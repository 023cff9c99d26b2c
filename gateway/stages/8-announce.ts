import type { FastifyReply, onSendHookHandler } from 'fastify'
import { pathOf } from '../../shared/service.ts'
import type { Cors } from '../http/cors.ts'
import type { FindDeprecation } from '../config/deprecations.ts'
import { rateHeaders } from '../limits/headers.ts'

export type AnnounceOptions = Readonly<{ ietf: boolean; find: FindDeprecation; cors: Cors }>

/** Puts the gateway's own headers on every answer, refusals included. They replace the backend's. */
export function announce({ ietf, find, cors }: AnnounceOptions): onSendHookHandler {
  return function announce(request, reply, payload, done): void {
    reply.header('x-request-id', request.id)
    const standing = request.tollgate?.standing
    if (standing) reply.headers(rateHeaders(standing, ietf))
    if (reply.statusCode < 400 && reply.hasHeader('retry-after')) reply.removeHeader('retry-after')
    const corsHeaders = cors.headersFor(request.raw)
    if (corsHeaders) reply.headers(corsHeaders)
    if (cors.varies) reply.header('vary', withOrigin(reply.getHeader('vary')))
    const deprecated = find(request.method, pathOf(request))
    if (deprecated) {
      reply.headers(deprecated.headers)
      addLinks(reply, deprecated.links)
    }
    done(null, payload)
  }
}

/** Adds `Origin` to a `Vary`, also without an origin: a cache would give that answer to all origins. */
function withOrigin(vary: ReturnType<FastifyReply['getHeader']>): string {
  if (vary === undefined) return 'Origin'
  const before = [vary].flat().join(', ')
  return /^\*$|(?:^|,)\s*origin\s*(?:,|$)/i.test(before) ? before : `${before}, Origin`
}

/** Adds links to the backend's own, which stay. */
function addLinks(reply: FastifyReply, links: readonly string[]): void {
  if (links.length === 0) return
  const sent = reply.getHeader('link')
  const before = sent === undefined ? [] : Array.isArray(sent) ? sent : [String(sent)]
  reply.header('link', [...before, ...links])
}
