import type { Included } from './beyond.ts'
import { limitOf, type Limits } from './limits.ts'
import type { Shadow } from './shadow.ts'
import { byLimit, longestFirst, windows, type Window } from '../../../shared/windows.ts'
import {
  hasLimits,
  includedFrom,
  isPrepaid,
  limitFrom,
  limitsFrom,
  withAtOnce,
  type LimitSettings,
} from './limit-settings.ts'

/** Requests of a plan that have limits of their own beside those of the plan. */
export type PlanOperation = Readonly<{
  name: string
  limits: Limits
  /** The methods and the path patterns of its requests; without them, all. */
  methods?: readonly string[] | undefined
  paths?: readonly string[] | undefined
}>

/** A plan of the configuration. For a custom plan, each key brings its own limits. */
export type Plan = Readonly<{
  name: string
  limits: Limits | 'custom'
  /** The same as the file writes them; without them as numbers. */
  settings?: LimitSettings | undefined
  /** Limits beyond which points are metered, up to those that refuse. */
  included?: Included | undefined
  /** Whether keys of this plan are banned for requests after refusals. */
  bans: boolean
  /** Lower limits that only count. */
  shadow?: Shadow | undefined
  /** In the order of the file: a request is of the first one that it fits. */
  operations?: readonly PlanOperation[] | undefined
  /** The methods and the path patterns that its keys may use; without them, all. */
  methods?: readonly string[] | undefined
  paths?: readonly string[] | undefined
}>

/** The limits of a plan by its settings. */
export function planLimits(
  settings: LimitSettings,
): Required<Pick<Plan, 'settings' | 'included'>> & { limits: Limits } {
  const shown = { ...byLimit(({ limit }) => settings[limit]), atOnce: settings.atOnce }
  return { limits: limitsFrom(shown), included: includedFrom(shown), settings: shown }
}

/** What is included for a key: as its own limits say, and in other windows as its plan does. */
export function effectiveIncluded(
  { included }: Plan,
  own: LimitSettings = {},
): Included | undefined {
  if (!hasLimits(own)) return included
  const ofKey = includedFrom(own)
  if (!included && !ofKey) return undefined
  return byLimit((window) => {
    const others = own[window.limit] === undefined ? included : ofKey
    return others ? limitOf(others, window) : Infinity
  })
}

/** The window of a key beyond whose included points those are taken that were bought in advance. */
export function effectivePrepaid(
  { settings }: Pick<Plan, 'settings'>,
  own: LimitSettings = {},
): Window | undefined {
  return longestFirst.find(({ limit }) => isPrepaid(own[limit] ?? settings?.[limit]))
}

/** The limits of a key: its own, else its plan's; `undefined` where a custom plan leaves one open. */
export function effectiveLimits(plan: Plan, own: LimitSettings = {}): Limits | undefined {
  const base = plan.limits === 'custom' ? undefined : plan.limits
  const isOpen = windows.some(
    ({ limit, isRequired }) => isRequired && !base && own[limit] === undefined,
  )
  if (isOpen) return undefined
  if (base && !hasLimits(own)) return base
  const limits = byLimit(
    (window) => limitFrom(own[window.limit]) ?? (base ? limitOf(base, window) : Infinity),
  )
  const { atOnce, lingerMs } = base ?? {}
  return withAtOnce({ ...limits, atOnce, lingerMs }, own.atOnce)
}
