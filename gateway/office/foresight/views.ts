import type { Limits } from '../../front/limits/limits.ts'
import type { Plan } from '../../front/limits/plan.ts'

/** The limits of a plan as operators write them. */
export type ShownLimits = { readonly [Window in keyof Limits]: number | 'unlimited' }

/** `custom`: each key brings its own. */
export type LimitsView = ShownLimits | 'custom'

export function limitsView({ limits }: Pick<Plan, 'limits'>): LimitsView {
  if (limits === 'custom') return limits
  return { perMinute: limitView(limits.perMinute), perDay: limitView(limits.perDay) }
}

export function limitView(limit: number): number | 'unlimited' {
  return limit === Infinity ? 'unlimited' : limit
}
