import { keyPaths } from '../../http/own-paths.ts'
import type { Config } from '../../config/config.ts'
import { methodsTaken } from '../../http/methods.ts'
import { entryFinder } from '../../http/entries-of.ts'

/** Tells the points that a request costs. */
export type CostOf = (method: string, path: string) => number

/** The settings of the paths at which the gateway itself answers callers. */
export type OwnPaths = 'quotaPath' | 'usagePath' | 'portal'

/**
 * Tells costs by the routes of a configuration, as its router does. A method that no entry of the path forwards costs as much
 * as the cheapest of them; a path without a route costs 1, as does a method that no route at all forwards.
 */
export function costsBy({ routes, ...own }: Pick<Config, 'routes' | OwnPaths>): CostOf {
  const taken = methodsTaken(routes)
  const free = freePaths(own).map((path) => ({ path, methods: ['GET'], cost: 0 }))
  const entriesOf = entryFinder([...free, ...routes])
  return (method, path) => {
    const entries = taken.includes(method) ? entriesOf(path) : []
    if (entries.length === 0) return 1
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
