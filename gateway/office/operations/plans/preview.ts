import { latestDays } from '../../../front/counts/usage.ts'
import { previewPlan } from '../../foresight/preview.ts'
import { planLimits, type Plan } from '../../../front/limits/plan.ts'
import type { LimitSettings } from '../../../front/limits/limit-settings.ts'
import { byLimit, limitNames, type Window } from '../../../../shared/windows.ts'
import { limitKind, quotaCount } from '../kinds.ts'
import { operation, WrongInput } from '../operation.ts'
import { valueOf } from '../parameters.ts'
import { listedQuotas, planName, planOf, recentDays } from './parameters.ts'
import { previewCsv, previewText } from './texts.ts'

const listLength = {
  ...valueOf(quotaCount, 'N', 'the most quotas to list'),
  defaultText: String(listedQuotas),
} as const

function limitThen(window: Window) {
  return valueOf(limitKind(window), 'N', `the points ${window.each} then`)
}

export const previewLimits = operation({
  name: 'plans preview',
  at: ['POST /admin/plans/{name}/preview'],
  summary: 'Show who would have been refused lately by other limits of a plan',
  details: 'A limit that is left out stays as it is. Nothing changes.',
  parameters: {
    name: planName,
    ...byLimit(limitThen),
    days: recentDays,
    limit: listLength,
  },
  needsOneOf: limitNames,
  role: 'read',
  takesLong: () => true,
  run: async ({ config, stores, clock, flush }, { name, days, limit, ...limits }) => {
    const now = planOf(config, name)
    const then = changedPlan(now, limits)
    await flush()
    const range = latestDays(days, clock())
    return previewPlan(stores(), { name, now, then, ...range, nowMs: clock(), limit })
  },
  csv: (preview) => previewCsv([preview]),
  text: previewText,
})

function changedPlan(plan: Plan, changed: LimitSettings): Plan {
  const { limits, settings } = plan
  if (limits === 'custom') {
    throw new WrongInput(`the plan ${plan.name} has no limits: each of its keys brings its own`)
  }
  const then = byLimit(({ limit }) => changed[limit] ?? settings?.[limit])
  return { ...plan, ...planLimits(then) }
}
