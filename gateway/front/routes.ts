import type { FastifyInstance } from 'fastify'
import { METHODS } from '../../shared/node/http.ts'
import { inPieces, type Pieces } from '../../shared/pieces.ts'
import type { Refusal } from '../../shared/refusal.ts'
import { nothingThere } from '../../shared/unknown-routes.ts'
import type { Config, OwnPaths, Route } from './config/config.ts'
import { lenienceOf, type Lenience } from './http/lenience.ts'
import { methodsTaken } from './http/methods.ts'
import { notAllowed } from './forwarding/refusals.ts'
import type { RouteForwarder } from './forwarding/route-forwarding.ts'
import { byShape, pathFinder } from './http/path-finder.ts'
import { readingsOf } from './http/paths.ts'
import {
  ownEndpoints,
  takeShortTexts,
  type OwnAnswers,
  type OwnEndpoint,
} from './portal/endpoints.ts'
import { noRoute } from './counts/meters.ts'
import { refuse, type Answer, type GuardedRoute } from './request-record.ts'
import { forward, hidden, type ProxyRoute } from './stages/8-forward.ts'

/** The settings of a route, and its answer to requests that have passed the stages. */
export type RouteSettings = Pick<
  GuardedRoute,
  'label' | 'cost' | 'answerCost' | 'needs' | 'errors'
> &
  RouteEnd &
  Readonly<{
    /** The upstream whose shares its requests take; `undefined` if it has none. */
    upstream?: string
  }>

/** What a request comes to that has passed the stages: it is forwarded, or answered otherwise. */
export type RouteEnd = Readonly<{ forwarder?: RouteForwarder | undefined; answer?: Answer }>

export type RouteOptions = Readonly<{
  guardedRoute: (settings: RouteSettings) => GuardedRoute
  endOf: (route: Route) => RouteEnd
  /** The answers of the gateway's own endpoints. */
  own: OwnAnswers
  /** Whether the app has no other routes: then every method and path that Node knows gets an answer here. */
  isAlone: boolean
}>

/** The paths that are added in one piece, before requests go on: 1 ms. */
const pathsAtOnce = 100

/** The routes of one path, by method. */
type PathRoutes = Readonly<{
  path: string
  methods: readonly string[]
  routeOf: (method: string) => GuardedRoute
}>

/** Makes the routes and endpoints of another configuration that has the same paths; the result puts them in force. */
export type ChangeRoutes = (
  config: Pick<Config, 'routes' | OwnPaths>,
  options: Omit<RouteOptions, 'isAlone'>,
) => Promise<() => void>

/** The routes and endpoints by which an app answers. */
type Answering = {
  endpoints: readonly OwnEndpoint[]
  paths: readonly PathRoutes[]
  find: (path: string, method: string) => GuardedRoute | undefined
}

/** Adds the routes of a configuration, and the endpoints at which the gateway itself answers. */
export async function addRoutes(
  app: FastifyInstance,
  config: Pick<Config, 'routes' | OwnPaths>,
  options: RouteOptions,
): Promise<ChangeRoutes> {
  const { isAlone } = options
  if (isAlone) takeAllMethods(app)
  const endpoints = ownEndpoints(config, options.own)
  const methods = isAlone ? methodsTaken(config.routes) : app.supportedMethods
  const paths = await inPieces(routesByPath(config.routes, options))
  const lenience = lenienceOf(app)
  const inForce: Answering = { endpoints, paths, find: leniently(lenience, paths) }
  void app.register((scope, _options, done) => {
    addEndpoints(scope, isAlone ? endpoints : replaceable(inForce), methods)
    done()
  })
  const doors = isAlone ? [doorToAll(paths, endpoints, options)] : doorsTo(inForce)
  await app.register(forward, { doors })
  return async (config, options) => {
    const endpoints = ownEndpoints(config, options.own)
    const paths = await inPieces(routesByPath(config.routes, options))
    const find = leniently(lenience, paths)
    return () => void Object.assign(inForce, { endpoints, paths, find })
  }
}

function* routesByPath(
  routes: readonly Route[],
  options: Omit<RouteOptions, 'isAlone'>,
): Pieces<PathRoutes[]> {
  const paths: PathRoutes[] = []
  for (const ofPath of byShape(routes)) {
    paths.push(routesOf(ofPath, options))
    if (paths.length % pathsAtOnce === 0) yield
  }
  if (paths.length > pathsAtOnce) yield
  return paths
}

function takeAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
}

/** Endpoints whose answers are those in force at each request. */
function replaceable(inForce: Answering): OwnEndpoint[] {
  return inForce.endpoints.map((endpoint, i) => ({
    ...endpoint,
    handler: (request, reply) => (inForce.endpoints[i] ?? endpoint).handler(request, reply),
  }))
}

function addEndpoints(
  scope: FastifyInstance,
  endpoints: readonly OwnEndpoint[],
  answered: readonly string[],
): void {
  takeShortTexts(scope)
  for (const { url, methods, config, handler } of endpoints) {
    scope.route({ url, method: [...methods], config, schema: hidden, handler })
    scope.route({
      url,
      method: answered.filter((method) => !methods.includes(method)),
      config: { ...config, tollgate: config.tollgate === 'open' ? 'open' : true },
      schema: hidden,
      handler: refusing(() => notAllowed(methods)),
    })
  }
}

/** The routes of a path, which forward their methods; all others are refused, at the price of the cheapest. */
function routesOf(
  routes: readonly Route[],
  { guardedRoute, endOf }: Omit<RouteOptions, 'isAlone'>,
): PathRoutes {
  const byMethod = new Map<string, GuardedRoute>()
  for (const route of routes) {
    const { path, cost, answerCost, upstream, scopes, errors } = route
    const end = endOf(route)
    const guarded = guardedRoute({ label: path, cost, answerCost, upstream, ...end, errors })
    for (const method of route.methods) {
      const needs = scopes?.get(method)
      byMethod.set(method, needs ? { ...guarded, needs } : guarded)
    }
  }
  const [{ path, upstream } = { path: '', upstream: '' }] = routes
  const cost = Math.min(...routes.map(({ cost }) => cost))
  const methods = [...byMethod.keys()]
  const answer = refusing(() => notAllowed(methods))
  const errors = routes.some((route) => route.errors)
  const others = guardedRoute({ label: path, cost, upstream, answer, errors })
  return { path, methods, routeOf: (method) => byMethod.get(method) ?? others }
}

/**
 * A door for the routes of each path, beside other routes of the app. Fastify's router leaves some escapes as they are; what a
 * path is read as here decides its route, or a `/v1/*` would be a way around the cost of `/v1/a,b`.
 */
function doorsTo(inForce: Answering): ProxyRoute[] {
  return inForce.paths.map((routes, i) => ({
    url: urlOf(routes.path),
    methods: routes.methods,
    routeOf(path, method) {
      const read = path.includes('%') ? inForce.find(path, method) : undefined
      return read ?? (inForce.paths[i] ?? routes).routeOf(method)
    },
  }))
}

/** Finds the routes of a path as an app's router reads it. */
function leniently(
  { ignoresCase, readingsOf }: Lenience,
  paths: readonly PathRoutes[],
): Answering['find'] {
  const placed = paths.map((routes) => ({
    path: ignoresCase ? routes.path.toLowerCase() : routes.path,
    routeOf: routes.routeOf,
  }))
  return routeFinder(pathFinder(placed), readingsOf)
}

/** Finds the route of a request, at the price of the dearest that a reading of its path leads to, and with the scopes of all. */
function routeFinder(
  find: (reading: string) => Pick<PathRoutes, 'routeOf'> | undefined,
  readingsOf: Lenience['readingsOf'],
): Answering['find'] {
  return (path, method) => {
    const [first, ...others] = readingsOf(path)
    const route = find(first)?.routeOf(method)
    if (!route || others.length === 0) return route
    const all = [route, ...others.flatMap((reading) => find(reading)?.routeOf(method) ?? [])]
    const needs = new Set(all.flatMap((each) => each.needs ?? []))
    const cost = Math.max(...all.map((each) => each.cost))
    return { ...route, cost, needs: needs.size > 0 ? [...needs] : undefined }
  }
}

/** One door for everything: adding each path to Fastify's router, once for each method, took two thirds of a reload. */
function doorToAll(
  paths: readonly PathRoutes[],
  endpoints: readonly OwnEndpoint[],
  { guardedRoute }: RouteOptions,
): ProxyRoute {
  const outside = (refusal: () => Refusal, cost: number): GuardedRoute =>
    guardedRoute({ label: noRoute, cost, answer: refusing(refusal) })
  const rest = endpoints.map(({ url: path, methods }) => {
    const route = outside(() => notAllowed(methods), 0)
    return { path, methods, routeOf: () => route }
  })
  const find = routeFinder(pathFinder([...rest, ...paths]), readingsOf)
  const nowhere = outside(nothingThere, 1)
  return {
    url: '*',
    methods: [],
    routeOf: (path, method) => find(path, method) ?? nowhere,
  }
}

/** Makes its refusal when the first request needs it: a thousand, with their stacks, take 3 ms of a reload. */
function refusing(make: () => Refusal): Answer {
  let refusal: Refusal | undefined
  return (_request, reply) => refuse(reply, (refusal ??= make()))
}

/** A path in Fastify's notation. */
function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
