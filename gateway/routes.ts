import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { METHODS } from 'node:http'
import { pathOf } from '../shared/service.ts'
import { nothingThere } from '../shared/unknown-routes.ts'
import type { Route } from './config/config.ts'
import type { Preview, Served } from './config/load.ts'
import { methodsTaken } from './http/methods.ts'
import { notAllowed } from './forwarding/refusals.ts'
import type { Forward } from './forwarding/route-forwarding.ts'
import { entryFinder } from './http/entries-of.ts'
import { ownEndpoints, silentAnswers, takeShortTexts, type OwnAnswers } from './portal/endpoints.ts'
import { noRoute } from './records/recorder.ts'
import { refuse } from './request-record.ts'
import { forward, hidden } from './stages/8-forward.ts'

export type RouteOptions = Readonly<{
  /** Gives the handler of a route. */
  forwardingOf: (route: Route) => Forward
  /** The answers of the gateway's own endpoints. */
  own: OwnAnswers
  /** Whether the app has no other routes: then every method and path that Node knows gets an answer here. */
  isAlone: boolean
}>

/** Adds the routes of a configuration, and the endpoints at which the gateway itself answers. */
export async function addRoutes(
  app: FastifyInstance,
  served: Served,
  { forwardingOf, own, isAlone }: RouteOptions,
): Promise<void> {
  if (isAlone) takeAllMethods(app)
  const { routes } = served
  const answered = isAlone ? methodsTaken(routes) : app.supportedMethods
  const endpoints = ownEndpoints(served, own)
  void app.register((scope, _options, done) => {
    takeShortTexts(scope)
    for (const { url, methods, config, handler } of endpoints) {
      scope.route({ url, method: [...methods], config, schema: hidden, handler })
      scope.route({
        url,
        method: answered.filter((method) => !methods.includes(method)),
        config: { ...config, tollgate: config.tollgate === 'open' ? 'open' : true },
        schema: hidden,
        handler: (_request, reply) => refuse(reply, notAllowed(methods)),
      })
    }
    done()
  })
  await app.register(forward, { routes, answered, forwardingOf })
  const entries = endpoints.map(({ url: path, methods }) => ({ path, methods }))
  if (isAlone) addRest(app, [...entries, ...routes], answered)
}

function takeAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
}

/**
 * Answers 404 for paths without a route, and 405 for the methods that no route takes: a route of each path for these would
 * be four of five entries of the router.
 */
function addRest(
  app: FastifyInstance,
  entries: readonly Pick<Route, 'path' | 'methods'>[],
  answered: readonly string[],
): void {
  const isEveryPath = entries.some(({ path }) => path === '/*')
  let entriesOf: ((path: string) => typeof entries) | undefined
  app.route({
    method: app.supportedMethods.filter((method) => !isEveryPath || !answered.includes(method)),
    url: '*',
    config: { tollgate: true, label: noRoute },
    handler: (request, reply) => {
      if (answered.includes(request.method)) throw nothingThere()
      entriesOf ??= entryFinder(entries)
      const methods = entriesOf(pathOf(request)).flatMap(({ methods }) => methods)
      if (methods.length === 0) throw nothingThere()
      return refuse(reply, notAllowed(methods))
    },
  })
}

/** Answers nothing, for a router that is only tried out. */
export function silent(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
}

/**
 * Builds the router of a configuration as a gateway would, without opening anything. Throws a `ConfigError` for
 * mistakes that only the router finds.
 */
export async function requireServable({ served, withNames, fault }: Preview): Promise<void> {
  const app = Fastify()
  try {
    const own = silentAnswers(served, silent)
    await addRoutes(app, served, { forwardingOf: () => silent, own, isAlone: true })
    await app.ready()
  } catch (error) {
    throw fault([[['routes'], `can't be served: ${withNames(inOneLine(error))}`]])
  } finally {
    await app.close()
  }
}

/** The message of an error in one line. */
export function inOneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/\s+/g, ' ').trim()
}
