import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { METHODS } from 'node:http'
import { nothingThere } from '../shared/unknown-routes.ts'
import type { Route } from './config/config.ts'
import type { Preview, Served } from './config/load.ts'
import { notAllowed } from './forwarding/refusals.ts'
import type { Forward } from './forwarding/route-forwarding.ts'
import { ownEndpoints, silentAnswers, takeShortTexts, type OwnAnswers } from './portal/endpoints.ts'
import { noRoute } from './records/recorder.ts'
import { refuse } from './request-record.ts'
import { forward, hidden } from './stages/8-forward.ts'

export type RouteAnswers = Readonly<{
  /** Gives the handler of a route. */
  forwardingOf: (route: Route) => Forward
  /** The answers of the gateway's own endpoints. */
  own: OwnAnswers
}>

/** Adds the routes of a configuration, and the endpoints at which the gateway itself answers. */
export async function addRoutes(
  app: FastifyInstance,
  served: Served,
  { forwardingOf, own }: RouteAnswers,
): Promise<void> {
  const endpoints = ownEndpoints(served, own)
  void app.register((scope, _options, done) => {
    takeShortTexts(scope)
    for (const { url, methods, config, handler } of endpoints) {
      scope.route({ url, method: [...methods], config, schema: hidden, handler })
      scope.route({
        url,
        method: app.supportedMethods.filter((method) => !methods.includes(method)),
        config: { ...config, tollgate: config.tollgate === 'open' ? 'open' : true },
        schema: hidden,
        handler: (_request, reply) => refuse(reply, notAllowed(methods)),
      })
    }
    done()
  })
  await app.register(forward, { routes: served.routes, forwardingOf })
}

/** Makes the gateway's own app accept every method that Node knows. */
export function takeAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
}

/** Adds a 404 for all paths without a route, to the gateway's own app. */
export function addRest(app: FastifyInstance, { routes }: Pick<Served, 'routes'>): void {
  if (routes.some(({ path }) => path === '/*')) return
  app.all('*', { config: { tollgate: true, label: noRoute } }, () => {
    throw nothingThere()
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
    takeAllMethods(app)
    await addRoutes(app, served, { forwardingOf: () => silent, own: silentAnswers(served, silent) })
    addRest(app, served)
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
