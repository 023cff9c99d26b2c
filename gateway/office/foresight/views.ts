import type { limitNames } from '../../../shared/windows.ts'
import {
  windows,
  type LimitNameOf,
  type OptionalName,
  type RequiredName,
  type Window,
} from '../../../shared/windows.ts'
import { limitText, type LimitSetting } from '../../front/limits/limit-settings.ts'
import { limitOf, recordedWith, type Limits } from '../../front/limits/limits.ts'
import type { Plan } from '../../front/limits/plan.ts'

/** The limits of a plan as operators write them; of an optional window only where it is limited. */
export type ShownLimits = Readonly<
  Record<LimitNameOf<RequiredName>, LimitSetting> & {
    [Name in LimitNameOf<OptionalName>]?: LimitSetting
  } & { atOnce?: number }
>

/** `custom`: each key brings its own. */
export type LimitsView = ShownLimits | 'custom'

export function limitsView({ limits, settings }: Pick<Plan, 'limits' | 'settings'>): LimitsView {
  if (limits === 'custom') return limits
  const shown = shownLimits(limits)
  const written = windows.filter(({ limit }) => typeof settings?.[limit] === 'object')
  return Object.assign(
    shown,
    Object.fromEntries(written.map(({ limit }) => [limit, settings?.[limit]])),
  )
}

export function shownLimits(limits: Limits) {
  const shown = recordedWith(limits).map((window) => {
    const limit = limitOf(limits, window)
    return [window.limit, limit === Infinity ? 'unlimited' : limit]
  })
  const { atOnce } = limits
  const places = atOnce === undefined ? {} : { atOnce }
  return { ...Object.fromEntries(shown), ...places } as ShownLimits
}

/** The windows that reports of some limits are about: the required ones, and those that any of them limits. */
export function windowsOf(all: readonly (LimitsView | null)[]): readonly Window[] {
  return windows.filter(({ isRequired, limit }) => {
    return isRequired || all.some((view) => limitIn(view, limit) !== 'unlimited')
  })
}

/** A limit in a view; `unlimited` where it has none. */
export function limitIn(view: LimitsView | null, name: (typeof limitNames)[number]): LimitSetting {
  return typeof view === 'object' ? (view?.[name] ?? 'unlimited') : 'unlimited'
}

/** The windows in which two views differ. */
export function changedWindows(now: LimitsView | null, then: LimitsView | null): readonly Window[] {
  return windowsOf([now, then]).filter(
    ({ limit }) => limitText(limitIn(now, limit)) !== limitText(limitIn(then, limit)),
  )
}

/** The sum of counts by any names. */
export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
