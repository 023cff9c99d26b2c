import type { FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import type { Cors } from '../http/cors.ts'
import { madePrivate, variedBy } from '../../../shared/caching.ts'
import type { Announced, FindDeprecation } from '../config/deprecations.ts'
import { rateHeaders, type IetfDraft } from '../limits/headers.ts'
import type { Refusal } from '../../../shared/refusal.ts'
import type { ResourceMetadataOf } from '../resource-metadata.ts'
import { noticeHeader, noticeOf } from '../limits/near.ts'
import { announcedOf } from '../retirement.ts'
import { forModels } from '../http/model-errors.ts'

export type AnnounceOptions = Readonly<{
  ietf: IetfDraft | undefined
  /** `undefined` where nothing is deprecated. */
  find: FindDeprecation | undefined
  /** `undefined` where no page may ask. */
  cors: Cors | undefined
  /** The headers in which keys come. */
  keyHeaders: readonly string[]
  /** Where callers find out whom to ask for tokens; `undefined` where there are only keys. */
  metadataOf: ResourceMetadataOf | undefined
}>

/** Puts the gateway's own headers on every answer, refusals included. They replace the backend's, but for lists. */
export function announce({
  ietf,
  find,
  cors,
  keyHeaders,
  metadataOf,
}: AnnounceOptions): onSendHookHandler {
  return function announce(request, reply, payload, done): void {
    reply.header('x-request-id', request.id)
    if (reply.statusCode < 400 && reply.hasHeader('retry-after')) reply.removeHeader('retry-after')
    const { tollgate: record } = request
    const { stand, terms } = record ?? {}
    if (stand) {
      const retryAfter = ietf && reply.getHeader('retry-after')
      reply.headers(rateHeaders(stand, ietf, retryAfter))
    }
    const notice = stand && noticeOf(stand, terms?.near)
    if (notice) reply.header('x-ratelimit-notice', noticeHeader(notice))
    if (metadataOf && record?.refusal) nameMetadata(reply, record.refusal, metadataOf)
    if (cors) allowPages(cors, request, reply)
    const isAnnounced = record && (find || record.announced !== 'unasked')
    const deprecated = isAnnounced && announcedOf(request, record, find)
    if (deprecated) {
      reply.headers(deprecated.headers)
      addLinks(reply, deprecated.links)
      if (deprecated.deprecation.extensions.length > 0) keepApart(reply, deprecated, keyHeaders)
    }
    const isOurs = record?.refusal && record.route.errors
    done(null, isOurs && typeof payload === 'string' ? forModels(payload) : payload)
  }
}

/** Says in the challenge of a refusal, if it has one, whom to ask for tokens. */
function nameMetadata(
  reply: FastifyReply,
  { headers }: Refusal,
  metadataOf: ResourceMetadataOf,
): void {
  const { 'www-authenticate': challenge } = headers
  const at = challenge && metadataOf(reply.request)
  if (at) reply.header('www-authenticate', `${challenge}, resource_metadata="${at}"`)
}

/** Lets the pages of listed origins read the answer. */
function allowPages(cors: Cors, { raw }: FastifyRequest, reply: FastifyReply): void {
  const corsHeaders = cors.headersFor(raw)
  if (corsHeaders) {
    const name = 'access-control-expose-headers'
    reply.headers(corsHeaders).header(name, cors.exposed(reply.getHeader(name)))
  }
  // Also without an origin: a cache would give that answer to all origins.
  if (cors.varies) reply.header('vary', variedBy('Origin', reply.getHeader('vary')))
}

/** Keeps caches from giving one caller's answer of an operation with extensions to another caller. */
function keepApart(
  reply: FastifyReply,
  { extension }: Announced,
  keyHeaders: readonly string[],
): void {
  for (const name of keyHeaders) reply.header('vary', variedBy(name, reply.getHeader('vary')))
  // Some shared caches don't look at `Vary`.
  if (extension) reply.header('cache-control', madePrivate(reply.getHeader('cache-control')))
}

/** Adds links to the backend's own, which stay. */
function addLinks(reply: FastifyReply, links: readonly string[]): void {
  if (links.length === 0) return
  const sent = reply.getHeader('link')
  const before = sent === undefined ? [] : Array.isArray(sent) ? sent : [String(sent)]
  reply.header('link', [...before, ...links])
}
