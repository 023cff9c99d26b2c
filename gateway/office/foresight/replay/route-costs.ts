import { keyPaths } from '../../../front/http/own-paths.ts'
import type { Config, OwnPaths } from '../../../front/config/config.ts'
import { byShape, pathFinder } from '../../../front/http/path-finder.ts'

/** Tells the points that a request costs. */
export type CostOf = (method: string, path: string) => number

/**
 * Tells costs by the routes of a configuration, as its router does. A method that no entry of the path forwards costs as much
 * as the cheapest of them; a path without a route costs 1.
 */
export function costsBy({ routes, ...own }: Pick<Config, 'routes' | OwnPaths>): CostOf {
  const free = freePaths(own).map((path) => ({ path, methods: ['GET'], cost: 0 }))
  const find = pathFinder(
    byShape([...free, ...routes]).map((entries) => ({ path: entries[0]?.path ?? '', entries })),
  )
  return (method, path) => {
    const entries = find(path)?.entries
    if (!entries) return 1
    const entry = entries.find(({ methods }) => methods.includes(method))
    return entry?.cost ?? Math.min(...entries.map(({ cost }) => cost))
  }
}

/** The gateway's own paths for callers with a key; anybody's cost no key anything. */
function freePaths({ quotaPath, usagePath, portal }: Pick<Config, OwnPaths>): string[] {
  return [quotaPath, usagePath, ...(portal?.canRotate ? [keyPaths.rotate] : [])].filter(
    (path) => path !== undefined,
  )
}
