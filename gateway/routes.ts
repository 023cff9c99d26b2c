import Fastify, { type FastifyInstance } from 'fastify'
import { METHODS } from 'node:http'
import { nothingThere } from '../shared/unknown-routes.ts'
import type { Route } from './config/config.ts'
import type { Preview, Served } from './config/load.ts'
import { notAllowed } from './forwarding/refusals.ts'
import type { Forward } from './forwarding/route-forwarding.ts'
import { noRoute } from './records/recorder.ts'
import { refuse } from './request-record.ts'
import { quotaView } from './stages/5-admit.ts'
import { forward, hidden } from './stages/7-forward.ts'

/** The methods of the quota path. */
const quotaMethods = ['GET', 'HEAD']

/** Adds the routes of a configuration; `forwardingOf` gives the handler of a route. */
export async function addRoutes(
  app: FastifyInstance,
  { quotaPath: url, routes }: Served,
  forwardingOf: (route: Route) => Forward,
): Promise<void> {
  if (url !== undefined) {
    app.get(url, { config: { tollgate: 'quota', cost: 0 }, schema: hidden }, quotaView)
    app.route({
      url,
      method: app.supportedMethods.filter((method) => !quotaMethods.includes(method)),
      config: { tollgate: true, cost: 0 },
      schema: hidden,
      handler: (_request, reply) => refuse(reply, notAllowed(quotaMethods)),
    })
  }
  await app.register(forward, { routes, forwardingOf })
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

/**
 * Builds the router of a configuration as a gateway would, without opening anything. Throws a `ConfigError` for
 * mistakes that only the router finds.
 */
export async function requireServable({ served, withNames, fault }: Preview): Promise<void> {
  const app = Fastify()
  try {
    takeAllMethods(app)
    await addRoutes(app, served, () => (_request, reply) => reply)
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
