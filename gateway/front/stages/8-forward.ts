import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { RouteForwarder } from '../forwarding/route-forwarding.ts'
import type { RouteOf } from '../request-record.ts'

/** A route of the app, through which requests come to the routes of the configuration. */
export type ProxyRoute = Readonly<{
  url: string
  /** Methods that the app must support; it answers with all others that it supports as well. */
  methods: readonly string[]
  routeOf: RouteOf
}>

/** Keeps a route out of the description that @fastify/swagger makes of an app. */
export const hidden: FastifySchema & { hide: true } = { hide: true }

/** @fastify/http-proxy needs one address, which is never used: the route's forwarding chooses the target. */
const someUpstream = 'http://upstream.invalid'

/** Sends admitted requests to the upstreams of the configuration's routes. */
export async function forward(
  app: FastifyInstance,
  { doors }: Readonly<{ doors: readonly ProxyRoute[] }>,
): Promise<void> {
  // Bodies are streamed unread, whatever their type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.addHook('onRoute', (route) => {
    route.schema = hidden
  })
  // Before 5.12 Fastify didn't know it, and routes without `methods` have it.
  if (!app.supportedMethods.includes('QUERY')) app.addHttpMethod('QUERY')
  if (doors.length === 0) return
  const { default: proxy } = await import('@fastify/http-proxy')
  for (const { url, methods, routeOf } of doors) {
    await app.register(proxy, {
      upstream: someUpstream,
      routes: [url],
      httpMethods: [...new Set([...app.supportedMethods, ...methods])],
      proxyPayloads: false,
      globalAgent: true,
      preHandler: answer,
      config: { tollgate: true, routeOf },
    })
  }
}

/**
 * Forwards in place of the handler of @fastify/http-proxy, which would parse the path, which `screen` has checked, again into
 * three URLs, and the query, which is forwarded byte for byte. A path or method without a route is refused.
 */
function answer(request: FastifyRequest, reply: FastifyReply): void {
  const { tollgate: record } = request
  if (!record) throw new Error('forward comes after follow')
  const { forwarder, answer } = record.route
  if (forwarder instanceof RouteForwarder) forwarder.forward(request, reply, record)
  else answer?.(request, reply)
}
