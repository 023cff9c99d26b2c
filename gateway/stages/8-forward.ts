import proxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifySchema } from 'fastify'
import { pathOf } from '../../shared/service.ts'
import type { Route } from '../config/config.ts'
import { shapeOf } from '../http/paths.ts'
import { notAllowed } from '../forwarding/refusals.ts'
import type { Forward } from '../forwarding/route-forwarding.ts'
import { refuse } from '../request-record.ts'

export type ForwardOptions = Readonly<{
  routes: readonly Route[]
  /** Gives the handler that forwards the requests of a route. */
  forwardingOf: (route: Route) => Forward
}>

/** Keeps a route out of the description that @fastify/swagger makes of an app. */
export const hidden: FastifySchema & { hide: true } = { hide: true }

/** @fastify/http-proxy needs one address, which is never used: the route's forwarding chooses the target. */
const someUpstream = 'http://upstream.invalid'

/** Sends admitted requests to the upstreams of the configuration's routes. */
export async function forward(app: FastifyInstance, options: ForwardOptions): Promise<void> {
  const { routes, forwardingOf } = options
  app.addHook('onRoute', (route) => {
    route.schema = hidden
  })
  for (const route of routes)
    await app.register((scope) => serve(scope, route, forwardingOf(route)))
  const entriesByShape = new Map<string, Route[]>()
  for (const route of routes) {
    const shape = shapeOf(route.path)
    entriesByShape.set(shape, [...(entriesByShape.get(shape) ?? []), route])
  }
  for (const entries of entriesByShape.values()) refuseOthers(app, entries)
}

async function serve(app: FastifyInstance, route: Route, forwardTo: Forward): Promise<void> {
  const { path, cost, methods, rewrite, upstream } = route
  const base = rewrite === undefined ? '' : withoutRest(path)
  // Bodies are streamed unread, whatever their type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  await app.register(proxy, {
    upstream: someUpstream,
    prefix: base,
    rewritePrefix: rewrite === undefined ? '' : withoutRest(rewrite),
    routes: [urlOf(path).slice(base.length)],
    httpMethods: [...methods],
    proxyPayloads: false,
    globalAgent: true,
    config: { tollgate: true, cost, label: path, upstream },
    // Without a rewrite the path is final, and `screen` has checked it. @fastify/http-proxy would parse it
    // again, into three URLs (2.8 µs a request).
    ...(rewrite === undefined
      ? { preHandler: (request, reply) => void forwardTo(request, reply, pathOf(request)) }
      : {}),
    // The query is forwarded byte for byte, so http-proxy must not parse it.
    preRewrite: (target) => target.split('?', 1)[0] ?? target,
    handler: (request, reply, destination) => forwardTo(request, reply, destination),
  })
}

/** Refuses the methods that no entry of a path forwards. */
function refuseOthers(app: FastifyInstance, entries: readonly Route[]): void {
  const [{ path, upstream } = { path: '', upstream: '' }] = entries
  const methods = entries.flatMap(({ methods }) => methods)
  const cost = Math.min(...entries.map(({ cost }) => cost))
  app.route({
    method: app.supportedMethods.filter((method) => !methods.includes(method)),
    url: urlOf(path),
    config: { tollgate: true, cost, label: path, upstream },
    handler: (_request, reply: FastifyReply) => refuse(reply, notAllowed(methods)),
  })
}

/** A path in Fastify's notation. */
function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

function withoutRest(path: string): string {
  return path.slice(0, -'/*'.length)
}
