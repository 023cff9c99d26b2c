import type { limitNames } from '../../../shared/windows.ts'
import {
  windows,
  type LimitNameOf,
  type OptionalName,
  type RequiredName,
  type Window,
} from '../../../shared/windows.ts'
import { limitOf, recordedWith, type Limits } from '../../front/limits/limits.ts'
import type { Plan } from '../../front/limits/plan.ts'

export type ShownLimit = number | 'unlimited'

/** The limits of a plan as operators write them; of an optional window only where it is limited. */
export type ShownLimits = Readonly<
  Record<LimitNameOf<RequiredName>, ShownLimit> & {
    [Name in LimitNameOf<OptionalName>]?: ShownLimit
  }
>

/** `custom`: each key brings its own. */
export type LimitsView = ShownLimits | 'custom'

export function limitsView({ limits }: Pick<Plan, 'limits'>): LimitsView {
  return limits === 'custom' ? limits : shownLimits(limits)
}

export function shownLimits(limits: Limits): ShownLimits {
  const shown = recordedWith(limits).map((window) => {
    const limit = limitOf(limits, window)
    return [window.limit, limit === Infinity ? 'unlimited' : limit]
  })
  return Object.fromEntries(shown) as ShownLimits
}

/** The windows that reports of some limits are about: the required ones, and those that any of them limits. */
export function windowsOf(all: readonly (LimitsView | null)[]): readonly Window[] {
  return windows.filter(({ isRequired, limit }) => {
    return isRequired || all.some((view) => limitIn(view, limit) !== 'unlimited')
  })
}

/** A limit in a view; `unlimited` where it has none. */
export function limitIn(view: LimitsView | null, name: (typeof limitNames)[number]): ShownLimit {
  return typeof view === 'object' ? (view?.[name] ?? 'unlimited') : 'unlimited'
}
