import type { Config } from '../../../front/config/config.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import { noPlan } from '../../../front/keys/settings.ts'
import type { Plan } from '../../../front/limits/plan.ts'
import { argument, days, textOf } from '../parameters.ts'

/** The plan that an operation is about: `{name}` in its path. */
export const planName = { ...textOf('PLAN', 'the name of a plan'), ...argument } as const

/** The days that a look at the past takes unless told: two weeks have each day of the week twice. */
export const recentDays = { ...days, defaultText: '14' } as const

/** The most quotas that a preview lists unless told. */
export const listedQuotas = 1_000

/** The plan of a name. */
export function planOf({ plans }: Config, name: string): Plan {
  const plan = plans.get(name)
  if (plan) return plan
  throw new KeyMistake(noPlan(name, plans), 'not_found')
}
