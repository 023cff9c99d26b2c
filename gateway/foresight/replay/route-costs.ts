import { keyPaths } from '../../http/own-paths.ts'
import type { Config, Route } from '../../config/config.ts'
import { decoded, pathExpression, shapeOf } from '../../http/paths.ts'

/** Tells the points that a request costs. */
export type CostOf = (method: string, path: string) => number

/** The entries of one path. */
type Entries = Readonly<{ path: string; expression: RegExp; routes: readonly Costly[] }>
type Costly = Pick<Route, 'path' | 'methods' | 'cost'>

/** The settings of the paths at which the gateway itself answers callers. */
export type OwnPaths = 'quotaPath' | 'usagePath' | 'portal'

/**
 * Tells costs by the routes of a configuration, as its router does: of the paths that fit, the one with the first segment
 * that is more exact counts. A method that no entry of the path forwards costs as much as the cheapest of them, and a path
 * without a route 1.
 */
export function costsBy({ routes, ...own }: Pick<Config, 'routes' | OwnPaths>): CostOf {
  const byShape = new Map<string, Costly[]>()
  const free = freePaths(own).map((path) => ({ path, methods: [], cost: 0 }))
  for (const route of [...free, ...routes]) {
    const shape = shapeOf(route.path)
    byShape.set(shape, [...(byShape.get(shape) ?? []), route])
  }
  const entries = [...byShape].map(([shape, routes]): Entries => {
    const [{ path } = { path: shape }] = routes
    return { path, expression: routerExpression(path), routes }
  })
  entries.sort((a, b) => (exactness(a.path) < exactness(b.path) ? -1 : 1))
  return (method, path) => {
    const plain = decoded(path)
    const { routes = [] } = entries.find(({ expression }) => expression.test(plain)) ?? {}
    if (routes.length === 0) return 1
    const route = routes.find(({ methods }) => methods.includes(method))
    return route?.cost ?? Math.min(...routes.map(({ cost }) => cost))
  }
}

/** A path as the router reads it: its last parameter may be empty. */
function routerExpression(path: string): RegExp {
  return new RegExp(pathExpression(path).source.replace(/\+\$$/, '*$'))
}

/** A text for the order of paths: of each segment whether it is fixed, a parameter or the rest. */
function exactness(path: string): string {
  return path
    .split('/')
    .map((segment) => (segment === '*' ? 2 : /^\{\w+\}$/.test(segment) ? 1 : 0))
    .join('')
}

/** The gateway's own paths for callers with a key; anybody's cost no key anything. */
function freePaths({ quotaPath, usagePath, portal }: Pick<Config, OwnPaths>): string[] {
  return [quotaPath, usagePath, ...(portal?.canRotate ? [keyPaths.rotate] : [])]
}
