import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, onRequestHookHandler, RouteOptions } from 'fastify'
import { Refusal } from '../shared/refusal.ts'
import { answer } from '../shared/service.ts'

/** A route that asks to be guarded, and the scope in which it was declared. */
type Asking = Readonly<{ scope: FastifyInstance; route: RouteOptions }>

/** The routes of an app that ask to be guarded, in all of its scopes. */
const asking: unique symbol = Symbol('routes that ask Tollgate for guard')

/** Marks the configuration of a route that the stages guard. */
const guarded: unique symbol = Symbol('guarded by Tollgate')

declare module 'fastify' {
  interface FastifyContextConfig {
    [guarded]?: boolean
  }
  interface FastifyInstance {
    [asking]?: Asking[]
  }
}

// Fastify announces each app as it is made, so that no route is declared too early to be noticed.
subscribe('fastify.initialization', (message) => {
  watch((message as { fastify: FastifyInstance }).fastify)
})

/** Puts a barrier before each route that asks to be guarded, even if Tollgate is never registered. */
function watch(app: FastifyInstance): void {
  const routes: Asking[] = []
  const declared: RouteOptions[] = []
  app[asking] = routes
  app.addHook('onRoute', function (route) {
    declared.push(route)
    if (!route.config?.tollgate) return
    route.onRequest = [barrier, ...[route.onRequest ?? []].flat()]
    routes.push({ scope: this, route })
  })
  app.addHook('onReady', (done) => {
    const open = declared.find(isOpen)
    declared.length = 0
    done(open && askedTooLate(open))
  })
}

/** Whether a route asks to be guarded and has neither the stages nor the barrier. */
function isOpen({ config, onRequest }: RouteOptions): boolean {
  if (!config?.tollgate || config[guarded]) return false
  return ![onRequest ?? []].flat().includes(barrier)
}

function askedTooLate({ method, url }: RouteOptions): Error {
  return new Error(
    `${[method].flat().join(', ')} ${url} asks to be guarded (config.tollgate) after it was declared, where Tollgate ` +
      'can’t see it: write it into the route, or add the onRoute hook that asks before Tollgate is registered',
  )
}

/** Stops requests that have passed no stages. Without it such a route would serve anybody. */
const barrier: onRequestHookHandler = (request, reply, done) => {
  const { config, url = '' } = request.routeOptions
  if (request.tollgate || !config.tollgate || config[guarded]) return done()
  const { method } = request
  request.log.error(
    { method, route: url },
    `${method} ${url} asks to be guarded (config.tollgate), but Tollgate doesn't reach it: ` +
      'import Tollgate before the app is made, and register it in the same scope or around it',
  )
  void answer(reply, new Refusal('internal_error', 'Something went wrong on our side.'))
}

/**
 * Guards the routes that ask for it in a scope and the scopes within, declared before or later. The barrier stops
 * requests to those that it can't reach.
 */
export function guardRoutes(app: FastifyInstance, guard: (route: RouteOptions) => void): void {
  const isWatched = app[asking] !== undefined
  for (const { scope, route } of app[asking] ?? []) {
    if (scope === app || Object.prototype.isPrototypeOf.call(app, scope)) guard(route)
  }
  app.addHook('onRoute', (route) => {
    if (!route.config?.tollgate) return
    route.config = { ...route.config, [guarded]: true }
    route.onRequest = [route.onRequest ?? []].flat().filter((hook) => hook !== barrier)
    guard(route)
  })
  // The app was made before Tollgate was imported: the barrier goes before all routes.
  if (!isWatched) rootOf(app).addHook('onRequest', barrier)
}

/** The root app of a scope: each scope's prototype is the scope around it. */
function rootOf(scope: FastifyInstance): FastifyInstance {
  const around: unknown = Object.getPrototypeOf(scope)
  return around === Object.prototype ? scope : rootOf(around as FastifyInstance)
}
