import proxy from '@fastify/http-proxy'
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
} from 'fastify'
import { breathe } from '../../shared/breathe.ts'
import { pathOf } from '../../shared/service.ts'
import type { Route } from '../config/config.ts'
import { shapeOf } from '../http/paths.ts'
import { notAllowed } from '../forwarding/refusals.ts'
import type { Forward } from '../forwarding/route-forwarding.ts'
import { refuse } from '../request-record.ts'

export type ForwardOptions = Readonly<{
  routes: readonly Route[]
  /** The methods with which each path answers; to those that no entry of it forwards, with 405. */
  answered: readonly string[]
  /** Gives the handler that forwards the requests of a route. */
  forwardingOf: (route: Route) => Forward
}>

/** Keeps a route out of the description that @fastify/swagger makes of an app. */
export const hidden: FastifySchema & { hide: true } = { hide: true }

/** @fastify/http-proxy needs one address, which is never used: the route's forwarding chooses the target. */
const someUpstream = 'http://upstream.invalid'

/** The routes that are added at once: requests go on between two groups while a configuration with many is put in force. */
const groupSize = 25

/** Sends admitted requests to the upstreams of the configuration's routes. */
export async function forward(app: FastifyInstance, options: ForwardOptions): Promise<void> {
  const { routes, answered, forwardingOf } = options
  app.addHook('onRoute', (route) => {
    route.schema = hidden
  })
  for (const group of groupsOf(routes, ({ methods }) => methods.join())) {
    await app.register((scope) => serve(scope, group, forwardingOf))
    await breathe()
  }
  for (const entries of groupsOf(routes, ({ path }) => shapeOf(path), Infinity)) {
    refuseOthers(app, entries, answered)
  }
}

/** Adds routes with the same methods. */
async function serve(
  app: FastifyInstance,
  routes: readonly Route[],
  forwardingOf: ForwardOptions['forwardingOf'],
): Promise<void> {
  // Bodies are streamed unread, whatever their type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  const urls = routes.map(({ path }) => urlOf(path))
  const byUrl = new Map(routes.map((route, i) => [app.prefix + urls[i], route]))
  // Not before this handler: @fastify/http-proxy would parse the path, which `screen` has checked, again into three URLs
  // (2.8 µs a request), and the query, which is forwarded byte for byte.
  app.addHook('onRoute', (added) => {
    const route = byUrl.get(added.url)
    if (route) added.preHandler = forwarder(route, forwardingOf(route), app.prefix.length)
  })
  const settings = routes.map(settingsOf)
  await app.register(proxy, {
    upstream: someUpstream,
    routes: urls,
    httpMethods: [...(routes[0]?.methods ?? [])],
    proxyPayloads: false,
    globalAgent: true,
    config: {
      tollgate: true,
      byUrl: new Map([...byUrl.keys()].map((url, i) => [url, settings[i] ?? {}])),
    },
  })
}

function settingsOf({ path, cost, upstream }: Route): FastifyContextConfig {
  return { cost, label: path, upstream }
}

/** Forwards a path of a route, rewritten where the route says so. `skipped` is the length of the prefix of the app. */
function forwarder({ path, rewrite }: Route, forwardTo: Forward, skipped: number) {
  if (rewrite === undefined) {
    return (request: FastifyRequest, reply: FastifyReply): void =>
      void forwardTo(request, reply, pathOf(request))
  }
  const from = skipped + withoutRest(path).length
  const base = withoutRest(rewrite)
  return (request: FastifyRequest, reply: FastifyReply): void =>
    void forwardTo(request, reply, base + pathOf(request).slice(from))
}

/** Refuses the methods that no entry of a path forwards. */
function refuseOthers(
  app: FastifyInstance,
  entries: readonly Route[],
  answered: readonly string[],
): void {
  const [{ path, upstream } = { path: '', upstream: '' }] = entries
  const methods = entries.flatMap(({ methods }) => methods)
  const others = answered.filter((method) => !methods.includes(method))
  if (others.length === 0) return
  const cost = Math.min(...entries.map(({ cost }) => cost))
  app.route({
    method: others,
    url: urlOf(path),
    config: { tollgate: true, cost, label: path, upstream },
    handler: (_request, reply: FastifyReply) => refuse(reply, notAllowed(methods)),
  })
}

/** Routes that share a name, in their order, at most so many together. */
function groupsOf(
  routes: readonly Route[],
  nameOf: (route: Route) => string,
  most = groupSize,
): Route[][] {
  const open = new Map<string, Route[]>()
  const groups: Route[][] = []
  for (const route of routes) {
    const name = nameOf(route)
    const group = open.get(name)
    if (group && group.length < most) group.push(route)
    else {
      const begun = [route]
      open.set(name, begun)
      groups.push(begun)
    }
  }
  return groups
}

/** A path in Fastify's notation. */
function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

function withoutRest(path: string): string {
  return path.slice(0, -'/*'.length)
}
