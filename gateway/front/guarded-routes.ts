import { subscribe } from 'node:diagnostics_channel'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  preParsingHookHandler,
  RouteOptions,
} from 'fastify'
import { Refusal } from '../../shared/refusal.ts'
import { logOf } from '../../shared/request-log.ts'
import { answer } from '../../shared/service.ts'
import { noRoute } from './counts/meters.ts'
import { nameOf, requireClear } from './route-config.ts'

/** A route, its URL, the scope in which it was declared, and whether it asked to be guarded then. */
type Declared = Readonly<{
  scope: FastifyInstance
  route: RouteOptions
  url: string
  asked: boolean
}> & { isGuarded: boolean }

/** The most routes that a line names. */
const mostNamed = 5

/** The routes of an app, in all of its scopes, until it is ready. */
const declared: unique symbol = Symbol('routes that may ask Tollgate for guard')

/** Marks an app in which Tollgate is registered: the routes of others are nobody's business. */
const isUsed: unique symbol = Symbol('Tollgate is registered')

/** Marks a scope whose routes are guarded unless they say otherwise. */
const guardsAll: unique symbol = Symbol('all routes are guarded')

/** Method and URL of routes whose `config` an onRoute hook of the app replaced after they had asked. */
const replaced: unique symbol = Symbol('routes that have lost their config')

/** Marks the configuration of a route that the stages guard. */
const guarded: unique symbol = Symbol('guarded by Tollgate')

declare module 'fastify' {
  interface FastifyContextConfig {
    [guarded]?: boolean
  }
  interface FastifyInstance {
    [declared]?: Declared[]
    [isUsed]?: boolean
    [guardsAll]?: boolean
    [replaced]?: Set<string>
  }
}

/** Watches all apps that are made from now on: Fastify announces each, so that no route is declared too early to be noticed. */
export function watchApps(): void {
  subscribe('fastify.initialization', (message) => {
    watch((message as { fastify: FastifyInstance }).fastify)
  })
}

/** Puts barriers before each route that asks to be guarded, even if Tollgate is never registered. */
function watch(app: FastifyInstance): void {
  const routes: Declared[] = []
  const lost = new Set<string>()
  app[declared] = routes
  app[replaced] = lost
  app.addHook('onRoute', function (route) {
    if (this[isUsed]) readGuard(this, route)
    const asked = Boolean(route.config?.tollgate)
    routes.push({ scope: this, route, url: route.url, asked, isGuarded: false })
    if (asked) route.onRequest = [barrier, ...[route.onRequest ?? []].flat()]
  })
  app.addHook('preParsing', lastBarrier)
  app.addHook('onReady', (done) => {
    const late = routes.find(({ route, asked }) => asksUnguarded(route) && !asked)
    const asking = routes.filter(({ asked }) => asked)
    routes.length = 0
    for (const { route, url } of asking) {
      if (route.config?.tollgate !== undefined) continue
      for (const method of [route.method].flat()) lost.add(`${method} ${url}`)
    }
    const unguarded = namesOf(asking.filter((each) => !each.isGuarded && asksUnguarded(each.route)))
    if (unguarded) {
      console.error(
        `Tollgate doesn’t reach ${unguarded} (config.tollgate), and the answer there is 500: ` +
          'register it in the same scope or around it',
      )
    }
    done(late && askedTooLate(late.route))
  })
}

/** The first routes of some, for a line on standard error: an app without a logger has no other. Empty for none. */
function namesOf(routes: readonly Declared[]): string {
  const all = routes.flatMap(({ route, url }) =>
    [route.method].flat().map((method) => `${method} ${url}`),
  )
  // Fastify adds HEAD to each GET by itself.
  const names = all.filter(
    (name) => !all.includes(name.replace(/^HEAD /, 'GET ')) || !name.startsWith('HEAD '),
  )
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : ''
  return `${names.slice(0, mostNamed).join(', ')}${more}`
}

/** Takes a route for guarded in a scope that guards all. Throws a sentence if its config nearly asks for it. */
function readGuard(scope: FastifyInstance, route: RouteOptions): void {
  if (scope[guardsAll] && route.config?.tollgate === undefined) {
    route.config = { ...route.config, tollgate: true }
  }
  requireClear(route)
}

function asksUnguarded({ config }: RouteOptions): boolean {
  return Boolean(config?.tollgate) && !config?.[guarded]
}

function askedTooLate(route: RouteOptions): Error {
  return new Error(
    `${nameOf(route)} asks to be guarded (config.tollgate) after it was declared, where Tollgate ` +
      'can’t see it: write it into the route, or add the onRoute hook that asks before Tollgate is registered',
  )
}

/** Stops requests to a route that Tollgate doesn't reach, before hooks of the route see them. */
const barrier: onRequestHookHandler = (request, reply, done) => {
  const { config } = request.routeOptions
  if (request.tollgate || !config.tollgate || config[guarded]) return done()
  close(request, reply)
}

/**
 * Stops requests that the stages haven't let in, because an onRoute hook has taken them, or the first barrier, out of
 * the route. No route can lose a hook of its app. It takes 25 ns a request.
 */
const lastBarrier: preParsingHookHandler = (request, reply, payload, done) => {
  const { caller, stand } = request.tollgate ?? {}
  if (caller && stand) return done(null, payload)
  const { config, url } = request.routeOptions
  const isLost = request.server[replaced]?.has(`${request.method} ${url}`)
  const isLetIn = config.tollgate === 'open' ? stand : !config.tollgate && !isLost
  if (isLetIn) return done(null, payload)
  close(request, reply)
}

function close(request: FastifyRequest, reply: FastifyReply): void {
  const { method } = request
  const { url = noRoute } = request.routeOptions
  logOf(request).error(
    { method, route: url },
    `${method} ${url} asks to be guarded (config.tollgate), but Tollgate doesn't reach it: ` +
      'import Tollgate before the app is made, register it in the same scope or around it, ' +
      'and let no onRoute hook replace the route’s onRequest or config',
  )
  void answer(reply, new Refusal('internal_error', 'Something went wrong on our side.'))
}

/**
 * Guards the routes that ask for it in a scope and the scopes within, declared before or later; for all, each later one.
 * The barriers stop requests to those that it can't reach; a gateway of its own, whose routes nobody else declares, needs
 * none.
 */
export function guardRoutes(
  app: FastifyInstance,
  { isAlone, isForAll }: Readonly<{ isAlone?: boolean; isForAll?: boolean }>,
  guard: (route: RouteOptions) => void,
): void {
  const isWatched = app[declared] !== undefined
  const within = (app[declared] ?? []).filter(
    ({ scope }) => scope === app || Object.prototype.isPrototypeOf.call(app, scope),
  )
  for (const { route } of app[declared] ?? []) requireClear(route)
  rootOf(app)[isUsed] = true
  for (const each of within) {
    if (!each.asked || !each.route.config?.tollgate) continue
    each.isGuarded = true
    guard(each.route)
  }
  if (isForAll) {
    app[guardsAll] = true
    const open = namesOf(within.filter(({ route }) => route.config?.tollgate === undefined))
    if (open) {
      console.error(
        `Tollgate’s guard: 'all' leaves ${open} open, which it found declared already: ` +
          'await register before them, or write tollgate: true or false into their config',
      )
    }
  }
  app.addHook('onRoute', function (route) {
    if (!isWatched) readGuard(this, route)
    if (!route.config?.tollgate) return
    route.config = { ...route.config, [guarded]: true }
    route.onRequest = [route.onRequest ?? []].flat().filter((hook) => hook !== barrier)
    guard(route)
  })
  if (isWatched || isAlone) return
  // The app was made before Tollgate was imported: the barriers go before all routes.
  rootOf(app).addHook('onRequest', barrier).addHook('preParsing', lastBarrier)
}

/** The root app of a scope: each scope's prototype is the scope around it. */
function rootOf(scope: FastifyInstance): FastifyInstance {
  const around: unknown = Object.getPrototypeOf(scope)
  return around === Object.prototype ? scope : rootOf(around as FastifyInstance)
}
