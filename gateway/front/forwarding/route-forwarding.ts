import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasBody } from '../../../shared/node/linger.ts'
import type { Route } from '../config/config.ts'
import { fixedPart, replacer } from '../http/paths.ts'
import { refuse, type RequestRecord } from '../request-record.ts'
import { ForwardedRequest } from './forwarded-request.ts'
import { bodied, tooLarge } from './refusals.ts'
import type { Upstream } from './upstream.ts'
import type { ForwardingOptions, RouteForwarding } from './forwarding.ts'
import { plainName } from './withheld-headers.ts'

/** Headers that have a backend answer with a part of the body, or none: where the body tells the cost, it must be whole. */
const partial = ['range', 'if-range', 'if-none-match', 'if-modified-since']

/** Forwards the requests of one route to its upstream. */
export class RouteForwarder {
  readonly #forwarding: RouteForwarding

  /** `prefix` is the path of the app's scope. */
  constructor(options: ForwardingOptions, route: Route, upstream: Upstream, prefix: string) {
    const { headers } = upstream.settings
    const more = Object.keys(headers ?? {}).map(plainName)
    if (route.answerCost?.inBody) more.push(...partial)
    this.#forwarding = {
      ...options,
      ...{ route, upstream },
      withheld:
        more.length > 0 ? new Set([...(options.withheld ?? []), ...more]) : options.withheld,
      fixedHeaders: headers && Object.entries(headers).flat(),
      rewritten: route.rewrite === undefined ? undefined : rewriter(route, prefix),
    }
  }

  /** Forwards a request, streaming in both directions. */
  forward(request: FastifyRequest, reply: FastifyReply, record: RequestRecord): void {
    const { raw, method, url } = request
    const { route, rewritten } = this.#forwarding
    // The caller has left during the look-up of its key or quota: nothing is sent for it.
    if (reply.raw.destroyed) return void reply.hijack()
    const isBodied = hasBody(raw)
    if (isBodied && (method === 'GET' || method === 'HEAD')) {
      return void refuse(reply, bodied(method))
    }
    const length = isBodied ? raw.headers['content-length'] : undefined
    if (Number(length ?? 0) > route.bodyLimit) return void refuse(reply, tooLarge(route.bodyLimit))
    const { path } = record
    const target = rewritten ? rewritten(path) + url.slice(path.length) : url
    const forwarded = new ForwardedRequest(this.#forwarding, request, record, reply, target)
    if (isBodied) forwarded.waitForBody(length === undefined ? Infinity : Number(length))
    else forwarded.send(undefined)
  }
}

/** Makes the function that gives the path at the backend. `prefix` stands before the route's own path. */
export function rewriter(
  { path, rewrite }: Pick<Route, 'path' | 'rewrite'>,
  prefix = '',
): (asked: string) => string {
  if (rewrite === undefined) return (asked) => asked
  return replacer(fixedPart(prefix) + fixedPart(path), fixedPart(rewrite))
}
