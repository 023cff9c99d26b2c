import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, onRequestHookHandler, RouteOptions } from 'fastify'
import { Refusal } from '../shared/refusal.ts'
import { answer } from '../shared/service.ts'

/** A route that asks to be guarded, and the scope in which it was declared. */
type Asking = Readonly<{ scope: FastifyInstance; route: RouteOptions }>

/** The routes of an app that ask to be guarded, in all of its scopes. */
const asking: unique symbol = Symbol('routes that ask Tollgate for guard')

/** Says of a route's configuration that the stages stand before it. */
const guarded: unique symbol = Symbol('guarded by Tollgate')

declare module 'fastify' {
  interface FastifyContextConfig {
    [guarded]?: boolean
  }
  interface FastifyInstance {
    [asking]?: Asking[]
  }
}

// Fastify tells of each app as it is made, so that no route of it comes too early to be heard of.
subscribe('fastify.initialization', (message) => {
  watch((message as { fastify: FastifyInstance }).fastify)
})

/** Puts a barrier before each route that asks to be guarded, whether Tollgate is registered or not. */
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

/** Whether a route asks to be guarded, and nothing stands before it. */
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

/** Stops requests that the stages have not seen; without it, such a route would serve anybody. */
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
 * Guards all routes of a scope, and of those within it, that ask for it, whether they were declared before or are
 * declared later. What it can't reach is stopped by the barrier.
 */
export function guardRoutes(app: FastifyInstance, guard: (route: RouteOptions) => void): void {
  const isHeard = app[asking] !== undefined
  for (const { scope, route } of app[asking] ?? []) {
    if (scope === app || Object.prototype.isPrototypeOf.call(app, scope)) guard(route)
  }
  app.addHook('onRoute', (route) => {
    if (!route.config?.tollgate) return
    route.config = { ...route.config, [guarded]: true }
    route.onRequest = [route.onRequest ?? []].flat().filter((hook) => hook !== barrier)
    guard(route)
  })
  // An app that was made before Tollgate was imported: the barrier goes before all that there is.
  if (!isHeard) rootOf(app).addHook('onRequest', barrier)
}

/** The app itself: each scope is made with the one around it as its prototype. */
function rootOf(scope: FastifyInstance): FastifyInstance {
  const around: unknown = Object.getPrototypeOf(scope)
  return around === Object.prototype ? scope : rootOf(around as FastifyInstance)
}
