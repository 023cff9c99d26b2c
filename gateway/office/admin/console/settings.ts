import { useData, type Loaded } from './data.ts'
import type { RunningConfig } from '../../operations/config/running.ts'

type Settings = RunningConfig['config']

export type Plan = ReturnType<typeof plansIn>[number]

/** The configuration in force. */
export function useConfig(everyMs?: number): Loaded<RunningConfig> {
  return useData<RunningConfig>('/admin/config', everyMs)
}

/** The plans in force; none until they are there. */
export function usePlans(): readonly Plan[] {
  const { data } = useConfig()
  return data ? plansIn(data.config) : []
}

/** The plans of a configuration; `custom`: each key brings its own limits. */
export function plansIn({ plans }: Settings) {
  return Object.entries(plans).map(([name, plan]) => ({
    name,
    limits: 'limits' in plan ? ('custom' as const) : plan,
    bans: shown(plan.bans),
    operations: Object.entries(plan.operations ?? {}),
  }))
}

/** The routes that lead to an upstream. */
export function routesTo(upstream: string, { routes }: Settings): Settings['routes'] {
  return routes.filter((route) => route.upstream === upstream)
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
