import type { Deprecation } from './charts/retirement.ts'
import type { ConfigInForce } from './answers/configuration.ts'

/** The settings of a configuration in its shown form: pages read only what they show. */
type Settings = ConfigInForce['config']

export type Plan = Readonly<{ name: string; perMinute: string; perDay: string; bans: string }>

export function plansIn(settings: Settings): readonly Plan[] {
  const plans = Object.entries(membersOf(settings['plans']))
  return plans.map(([name, plan]) => {
    const { limits, perMinute, perDay, bans } = membersOf(plan)
    if (limits === 'custom')
      return { name, perMinute: 'of each key', perDay: 'of each key', bans: shown(bans) }
    return { name, perMinute: shown(perMinute), perDay: shown(perDay), bans: shown(bans) }
  })
}

export function deprecationsIn({ deprecations }: Settings): readonly Deprecation[] {
  return Array.isArray(deprecations) ? (deprecations as readonly Deprecation[]) : []
}

/** The paths of the routes that lead to an upstream. */
export function pathsTo(upstream: string, { routes }: Settings): readonly string[] {
  const all = Array.isArray(routes) ? routes.map(membersOf) : []
  return all.filter((route) => route['upstream'] === upstream).map((route) => shown(route['path']))
}

/** The members of an object; none of anything else. */
export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** A setting as a text. */
export function shown(value: unknown): string {
  if (typeof value === 'number') return value.toLocaleString('en')
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}
