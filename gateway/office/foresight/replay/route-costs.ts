import { keyPaths } from '../../../front/http/own-paths.ts'
import type { Config, OwnPaths, Route } from '../../../front/config/config.ts'
import { byShape, pathFinder } from '../../../front/http/path-finder.ts'

/** The points that a request is admitted with, and how its answer tells what it has cost. */
export type RouteCost = Pick<Route, 'cost' | 'answerCost'>

export type CostOf = (method: string, path: string) => RouteCost

const none: RouteCost = { cost: 0, answerCost: undefined }

const usual: RouteCost = { cost: 1, answerCost: undefined }

/**
 * Tells costs by the routes of a configuration, as its router does. A method that no entry of the path forwards costs as much
 * as the cheapest of them; a path without a route costs 1.
 */
export function costsBy({ routes, ...own }: Pick<Config, 'routes' | OwnPaths>): CostOf {
  const free = freePaths(own).map((path) => ({ path, methods: ['GET'], ...none }))
  const find = pathFinder(
    byShape([...free, ...routes]).map((entries) => ({ path: entries[0]?.path ?? '', entries })),
  )
  return (method, path) => {
    const entries = find(path)?.entries
    if (!entries) return usual
    const entry = entries.find(({ methods }) => methods.includes(method))
    // Refused by the gateway: no answer tells its cost.
    return entry ?? { ...usual, cost: Math.min(...entries.map(({ cost }) => cost)) }
  }
}

/** The gateway's own paths for callers with a key; anybody's cost no key anything. */
function freePaths({ quotaPath, usagePath, portal }: Pick<Config, OwnPaths>): string[] {
  return [quotaPath, usagePath, ...(portal?.canRotate ? [keyPaths.rotate] : [])].filter(
    (path) => path !== undefined,
  )
}
