import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasBody } from '../../../shared/node/linger.ts'
import { pathOf } from '../../../shared/service.ts'
import type { Route } from '../config/config.ts'
import { refuse } from '../request-record.ts'
import { ForwardedRequest } from './forwarded-request.ts'
import { bodied, tooLarge } from './refusals.ts'
import type { Upstream } from './upstream.ts'
import type { ForwardingOptions, RouteForwarding } from './forwarding.ts'
import { plainName } from './withheld-headers.ts'

/** Sends a request to its backend at a path, and streams the answer back. */
export type Forward = (request: FastifyRequest, reply: FastifyReply, path: string) => FastifyReply

/** Headers that have a backend answer with a part of the body, or none: where the body tells the cost, it must be whole. */
const partial = ['range', 'if-range', 'if-none-match', 'if-modified-since']

/** Forwards the requests of one route to its upstream, streaming in both directions. */
export function forwardTo(options: ForwardingOptions, route: Route, upstream: Upstream): Forward {
  const { headers } = upstream.settings
  const more = Object.keys(headers ?? {}).map(plainName)
  if (route.answerCost?.inBody) more.push(...partial)
  const withheld =
    more.length > 0 ? new Set([...(options.withheld ?? []), ...more]) : options.withheld
  const fixedHeaders = headers && Object.entries(headers).flat()
  const forwarding: RouteForwarding = { ...options, withheld, route, upstream, fixedHeaders }

  return function forward(request, reply, path) {
    const { raw, method, tollgate: record } = request
    if (!record) throw new Error('a request is forwarded after the stages')
    // The caller has left during the look-up of its key or quota: nothing is sent for it.
    if (reply.raw.destroyed) return reply.hijack()
    const isBodied = hasBody(raw)
    if (isBodied && (method === 'GET' || method === 'HEAD')) return refuse(reply, bodied(method))
    const length = isBodied ? raw.headers['content-length'] : undefined
    if (Number(length ?? 0) > route.bodyLimit) return refuse(reply, tooLarge(route.bodyLimit))
    const target = path + request.url.slice(pathOf(request).length)
    const forwarded = new ForwardedRequest(forwarding, request, record, reply, target)
    if (isBodied) forwarded.waitForBody(length === undefined ? Infinity : Number(length))
    else forwarded.send(undefined)
    return reply
  }
}
