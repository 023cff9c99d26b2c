import type { FastifyContextConfig, RouteOptions } from 'fastify'
import { isNear } from '../../shared/near.ts'
import { areScopes } from './keys/scopes.ts'
import { mostCost, type CostSetting } from './limits/answer-cost.ts'

/** Settings of a route that mean nothing unless it asks for its guard. */
const besideTollgate = new Set(['cost', 'label', 'scopes'])

/** The settings of a guarded route; throws a sentence for invalid ones. */
export function settingsOf(route: RouteOptions): FastifyContextConfig {
  const { config = {} } = route
  const { cost = 1, tollgate, scopes } = config
  const name = nameOf(route)
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
  if (scopes !== undefined && (!areScopes(scopes) || tollgate !== true)) {
    throw new Error(
      `${name}: config.scopes must be a list of scopes such as ["pets:write"] beside tollgate: true, got ${text(scopes)}`,
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

/** Throws a sentence if a route's config nearly asks for a guard: it would be open and silent. */
export function requireClear(route: RouteOptions): void {
  const { config = {} } = route
  if (config.tollgate === false) return
  const settings = Object.entries(config).filter(([, value]) => value !== undefined)
  const names = settings.map(([name]) => name)
  const near = names.find((name) => name !== 'tollgate' && isNear(name, 'tollgate'))
  const alone = config.tollgate ? undefined : names.find((name) => besideTollgate.has(name))
  if (near === undefined && alone === undefined) return
  const hint =
    near === undefined
      ? 'write tollgate: true'
      : 'did you mean tollgate? If not, write tollgate: false'
  throw new Error(`${nameOf(route)}: config.${near ?? alone} guards nothing: ${hint} beside it`)
}

/** A route as messages name it. */
export function nameOf({ method, url }: RouteOptions): string {
  return `${[method].flat().join(', ')} ${url}`
}
