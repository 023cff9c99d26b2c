import { subscribe } from 'node:diagnostics_channel'
import type {
  FastifyContextConfig,
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
import { noRoute } from './counts/labels.ts'
import { mostCost, type CostSetting } from './limits/answer-cost.ts'

/** A route that asks to be guarded, its URL, and the scope in which it was declared. */
type Asking = Readonly<{ scope: FastifyInstance; route: RouteOptions; url: string }> & {
  isGuarded: boolean
}

/** The most routes that a line names. */
const mostNamed = 5

/** The routes of an app that ask to be guarded, in all of its scopes. */
const asking: unique symbol = Symbol('routes that ask Tollgate for guard')

/** Method and URL of routes whose `config` an onRoute hook of the app replaced after they had asked. */
const replaced: unique symbol = Symbol('routes that have lost their config')

/** Marks the configuration of a route that the stages guard. */
const guarded: unique symbol = Symbol('guarded by Tollgate')

declare module 'fastify' {
  interface FastifyContextConfig {
    [guarded]?: boolean
  }
  interface FastifyInstance {
    [asking]?: Asking[]
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
  const routes: Asking[] = []
  const declared: RouteOptions[] = []
  const lost = new Set<string>()
  app[asking] = routes
  app[replaced] = lost
  app.addHook('onRoute', function (route) {
    declared.push(route)
    if (!route.config?.tollgate) return
    route.onRequest = [barrier, ...[route.onRequest ?? []].flat()]
    routes.push({ scope: this, route, url: route.url, isGuarded: false })
  })
  app.addHook('preParsing', lastBarrier)
  app.addHook('onReady', (done) => {
    const asked = new Set(routes.map(({ route }) => route))
    const late = declared.find((route) => asksUnguarded(route) && !asked.has(route))
    declared.length = 0
    for (const { route, url } of routes) {
      if (route.config?.tollgate !== undefined) continue
      for (const method of [route.method].flat()) lost.add(`${method} ${url}`)
    }
    warnOf(routes)
    done(late && askedTooLate(late))
  })
}

/** Says on standard error which routes nobody guards: an app without a logger would only answer 500. */
function warnOf(routes: readonly Asking[]): void {
  const left = routes.filter(({ isGuarded, route }) => !isGuarded && asksUnguarded(route))
  const names = left.flatMap(({ route, url }) =>
    [route.method].flat().map((method) => `${method} ${url}`),
  )
  // Fastify adds HEAD to each GET by itself.
  const unguarded = names.filter(
    (name) => !names.includes(name.replace(/^HEAD /, 'GET ')) || !name.startsWith('HEAD '),
  )
  if (unguarded.length === 0) return
  const more = unguarded.length > mostNamed ? ` and ${unguarded.length - mostNamed} more` : ''
  console.error(
    `Tollgate doesn’t reach ${unguarded.slice(0, mostNamed).join(', ')}${more} (config.tollgate), and the answer there is 500: ` +
      'register it in the same scope or around it',
  )
}

function asksUnguarded({ config }: RouteOptions): boolean {
  return Boolean(config?.tollgate) && !config?.[guarded]
}

function askedTooLate({ method, url }: RouteOptions): Error {
  return new Error(
    `${[method].flat().join(', ')} ${url} asks to be guarded (config.tollgate) after it was declared, where Tollgate ` +
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
 * Guards the routes that ask for it in a scope and the scopes within, declared before or later. The barriers stop
 * requests to those that it can't reach; a gateway of its own, whose routes nobody else declares, needs none.
 */
export function guardRoutes(
  app: FastifyInstance,
  isAlone: boolean,
  guard: (route: RouteOptions) => void,
): void {
  const isWatched = app[asking] !== undefined
  for (const each of app[asking] ?? []) {
    const { scope, route } = each
    const isWithin = scope === app || Object.prototype.isPrototypeOf.call(app, scope)
    if (!isWithin || !route.config?.tollgate) continue
    each.isGuarded = true
    guard(route)
  }
  app.addHook('onRoute', (route) => {
    if (!route.config?.tollgate) return
    route.config = { ...route.config, [guarded]: true }
    route.onRequest = [route.onRequest ?? []].flat().filter((hook) => hook !== barrier)
    guard(route)
  })
  if (isWatched || isAlone) return
  // The app was made before Tollgate was imported: the barriers go before all routes.
  rootOf(app).addHook('onRequest', barrier).addHook('preParsing', lastBarrier)
}

/** The settings of a guarded route; throws a sentence for invalid ones. */
export function settingsOf({ config = {}, method, url }: RouteOptions): FastifyContextConfig {
  const { cost = 1, tollgate } = config
  const name = `${[method].flat().join(', ')} ${url}`
  const text = (value: unknown): string => JSON.stringify(value) ?? String(value)
  if (!isCost(cost)) {
    throw new Error(
      `${name}: config.cost must be a whole number from 0 on, or { estimate, from: 'answer', atMost }, got ${text(cost)}`,
    )
  }
  if (tollgate !== true && tollgate !== 'quota' && tollgate !== 'open') {
    throw new Error(
      `${name}: config.tollgate must be true, false, "quota" or "open", got ${text(tollgate)}`,
    )
  }
  return config
}

/** Whether a value is a cost: TypeScript checks it, other apps don't. */
function isCost(value: unknown): value is CostSetting {
  if (typeof value !== 'object' || value === null) return isPoints(value, 0)
  const { estimate, from, atMost = mostCost }: Record<string, unknown> = { ...value }
  return isPoints(estimate, 1) && from === 'answer' && isPoints(atMost, estimate)
}

function isPoints(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= least
}

/** The root app of a scope: each scope's prototype is the scope around it. */
function rootOf(scope: FastifyInstance): FastifyInstance {
  const around: unknown = Object.getPrototypeOf(scope)
  return around === Object.prototype ? scope : rootOf(around as FastifyInstance)
}
