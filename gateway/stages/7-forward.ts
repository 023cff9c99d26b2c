import proxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifySchema } from 'fastify'
import { pathOf } from '../../shared/service.ts'
import type { Route } from '../config/config.ts'
import { shapeOf } from '../config/methods.ts'
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

/** @fastify/http-proxy wants one address; the forwarding of a route knows where requests go. */
const someUpstream = 'http://upstream.invalid'

/** Sends admitted requests to the upstreams that the configuration's routes name. */
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
  // Bodies go through as they come, whatever their type.
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
    // Where nothing is rewritten, there is nothing to reckon: the path was looked at when it came in.
    // @fastify/http-proxy would look again, with three URLs made of it (2.8 µs a request).
    ...(rewrite === undefined
      ? { preHandler: (request, reply) => void forwardTo(request, reply, pathOf(request)) }
      : {}),
    // The query goes on byte for byte; taken apart and put together again it would not.
    preRewrite: (target) => target.split('?', 1)[0] ?? target,
    handler: (request, reply, destination) => forwardTo(request, reply, destination),
  })
}

/** Of one path, the methods that none of its entries forwards. */
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

/** A path as Fastify writes it. */
function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

function withoutRest(path: string): string {
  return path.slice(0, -'/*'.length)
}
