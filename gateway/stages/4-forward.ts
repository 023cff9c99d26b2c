import proxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifySchema } from 'fastify'
import { answer, pathOf } from '../../shared/service.ts'
import type { Route } from '../config/config.ts'
import { notAllowed } from '../forwarding-refusals.ts'
import { passageOf, type PassageOptions } from '../passage.ts'
import type { Upstream } from '../upstreams/upstream.ts'

export type ForwardOptions = PassageOptions &
  Readonly<{ routes: readonly Route[]; upstreams: ReadonlyMap<string, Upstream> }>

/** Keeps a route out of the description that @fastify/swagger makes of an app. */
export const hidden: FastifySchema & { hide: true } = { hide: true }

/** What a route forwards unless it says otherwise. */
const usualMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Sends admitted requests to the upstreams that the configuration's routes name. */
export async function forward(app: FastifyInstance, options: ForwardOptions): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.schema = hidden
  })
  for (const route of options.routes) {
    const upstream = options.upstreams.get(route.upstream)
    if (!upstream) throw new Error(`the upstream ${route.upstream} is not open`)
    await app.register((scope) => serve(scope, options, route, upstream))
  }
}

async function serve(
  app: FastifyInstance,
  options: ForwardOptions,
  route: Route,
  upstream: Upstream,
): Promise<void> {
  const { path, cost, rewrite } = route
  const base = rewrite === undefined ? '' : withoutRest(path)
  const url = path.slice(base.length).replace(/\{(\w+)\}/g, ':$1')
  const methods = withHead(route.methods ?? usualMethods)
  const config = { tollgate: true, cost, label: path, upstream: upstream.settings.name }
  const pass = passageOf(options, route, upstream)
  // Bodies go through as they come, whatever their type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  await app.register(proxy, {
    upstream: upstream.targets[0]?.origin ?? '',
    prefix: base,
    rewritePrefix: rewrite === undefined ? '' : withoutRest(rewrite),
    routes: [url],
    httpMethods: methods,
    proxyPayloads: false,
    globalAgent: true,
    config,
    // Where nothing is rewritten, there is nothing to reckon: the path was looked at when it came in.
    // @fastify/http-proxy would look again, with three URLs made of it (2.8 µs a request).
    ...(rewrite === undefined
      ? { preHandler: (request, reply) => void pass(request, reply, pathOf(request)) }
      : {}),
    // The query goes on byte for byte; taken apart and put together again it would not.
    preRewrite: (target) => target.split('?', 1)[0] ?? target,
    handler: (request, reply, destination) => pass(request, reply, destination),
  })
  app.route({
    method: app.supportedMethods.filter((method) => !methods.includes(method)),
    url: base + url,
    config,
    handler: (_request, reply: FastifyReply) => answer(reply, notAllowed(methods)),
  })
}

/** What would be answered to GET is told to HEAD. */
function withHead(methods: readonly string[]): string[] {
  return methods.includes('GET') && !methods.includes('HEAD') ? [...methods, 'HEAD'] : [...methods]
}

function withoutRest(path: string): string {
  return path.slice(0, -'/*'.length)
}
