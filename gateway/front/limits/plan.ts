import type { Limits } from './limits.ts'
import type { Shadow } from './shadow.ts'

/** A plan of the configuration. For a custom plan, each key brings its own limits. */
export type Plan = Readonly<{
  name: string
  limits: Limits | 'custom'
  /** Whether keys of this plan are banned for requests after refusals. */
  bans: boolean
  /** Lower limits that only count. */
  shadow?: Shadow | undefined
  /** The methods and the path patterns that its keys may use; without them, all. */
  methods?: readonly string[] | undefined
  paths?: readonly string[] | undefined
}>

/** A key's own limits, which replace those of its plan; as operators write them. */
export type LimitSettings = Readonly<{
  perMinute?: number | 'unlimited' | undefined
  perDay?: number | 'unlimited' | undefined
}>

/** The limits of a key: its own, else its plan's; `undefined` where a custom plan leaves one open. */
export function effectiveLimits(plan: Plan, own: LimitSettings = {}): Limits | undefined {
  const base = plan.limits === 'custom' ? undefined : plan.limits
  if (own.perMinute === undefined && own.perDay === undefined) return base
  const perMinute = limitFrom(own.perMinute) ?? base?.perMinute
  const perDay = limitFrom(own.perDay) ?? base?.perDay
  return perMinute === undefined || perDay === undefined ? undefined : { perMinute, perDay }
}

/** A limit as operators write it, as a number to count against. */
export function limitFrom(setting: number | 'unlimited' | undefined): number | undefined {
  return setting === 'unlimited' ? Infinity : setting
}
