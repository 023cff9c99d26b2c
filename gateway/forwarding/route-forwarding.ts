import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import { hasBody } from '../../shared/node/linger.ts'
import { pathOf } from '../../shared/service.ts'
import type { Sign } from '../../shared/signature.ts'
import { answerActed } from '../acts/answer.ts'
import type { Ranges } from '../http/address.ts'
import type { Route } from '../config/config.ts'
import { refuse, type RequestRecord } from '../request-record.ts'
import { ForwardedRequest } from './forwarded-request.ts'
import { bodied, tooLarge } from './refusals.ts'
import type { Mirror } from '../mirror/mirror.ts'
import type { Tunnels } from './tunnels.ts'
import type { Upstream } from './upstream.ts'

export type ForwardingOptions = Readonly<{
  trustedProxies: Ranges
  /** Signs requests; `undefined` without a secret. */
  sign: Sign | undefined
  clock: Clock
  /** Called for a request that was admitted and then could not be answered. */
  unanswered: (record: RequestRecord) => void
  tunnels: Tunnels
  /** Where a comparison looks on, while one runs. */
  mirrors: Readonly<{ current: Mirror | undefined }>
}>

/** All that the requests of one route share. */
export type RouteForwarding = ForwardingOptions & Readonly<{ route: Route; upstream: Upstream }>

/** Sends a request to its backend at a path, and streams the answer back. */
export type Forward = (request: FastifyRequest, reply: FastifyReply, path: string) => FastifyReply

/** Forwards the requests of one route to its upstream, streaming in both directions. */
export function forwardTo(options: ForwardingOptions, route: Route, upstream: Upstream): Forward {
  const forwarding: RouteForwarding = { ...options, route, upstream }

  return function forward(request, reply, path) {
    const { raw, method, tollgate: record } = request
    if (!record) throw new Error('a request is forwarded after the stages')
    // The caller has left during the look-up of its key or quota: nothing is sent for it.
    if (reply.raw.destroyed) return reply.hijack()
    const isBodied = hasBody(raw)
    if (isBodied && (method === 'GET' || method === 'HEAD')) return refuse(reply, bodied(method))
    const length = isBodied ? raw.headers['content-length'] : undefined
    if (Number(length ?? 0) > route.bodyLimit) return refuse(reply, tooLarge(route.bodyLimit))
    if (record.act) return answerActed(record.act, record, reply, upstream)
    const target = path + request.url.slice(pathOf(request).length)
    const forwarded = new ForwardedRequest(forwarding, request, record, reply, target)
    if (isBodied) forwarded.waitForBody(length === undefined ? Infinity : Number(length))
    else forwarded.send(undefined)
    return reply
  }
}
