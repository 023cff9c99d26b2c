import { onceFor } from '../../../shared/once-for.ts'
import {
  briefWindows,
  byLimit,
  longestFirst,
  optionalWindows,
  requiredWindows,
  windows,
  type LimitName,
  type LimitNameOf,
  type RequiredName,
  type Window,
} from '../../../shared/windows.ts'

/** The most points in each window; `Infinity`, or none, where a window has no limit. */
export type Limits = Readonly<
  Record<LimitNameOf<RequiredName>, number> & { [Name in LimitName]?: number | undefined } & {
    /** The most requests under way at once; without it, any number. */
    atOnce?: number | undefined
    /** How long the place of a request is kept whose caller has left. */
    lingerMs?: number | undefined
  }
>

/** Admits everything, and counts it. */
export const noLimits: Limits = byLimit(() => Infinity)

export function limitOf(limits: Limits, { limit }: Window): number {
  return limits[limit] ?? Infinity
}

export function isLimited(limits: Limits, window: Window): boolean {
  return limitOf(limits, window) !== Infinity
}

/** A window with its limit. */
export type LimitedWindow = Readonly<{ window: Window; limit: number }>

/** The windows that have a limit, the longest first. Listed once: each decision goes through them twice. */
export const limitedIn = onceFor((limits: Limits): readonly LimitedWindow[] =>
  longestFirst
    .map((window) => ({ window, limit: limitOf(limits, window) }))
    .filter(({ limit }) => limit !== Infinity),
)

/** Whether brief windows are limited, and so counted. */
export function countsBrief(limits: Limits): boolean {
  return briefWindows.some((window) => isLimited(limits, window))
}

/** The windows whose peaks are recorded for callers with some limits, or none: the required ones, and those limited. */
export function recordedWith(...all: readonly (Limits | undefined)[]): readonly Window[] {
  const others = optionalWindows.filter((window) =>
    all.some((limits) => limits && isLimited(limits, window)),
  )
  return others.length === 0 ? requiredWindows : [...requiredWindows, ...others]
}

/** Limits as pages and answers show them: `null` is unlimited, and of an optional window left out. */
export type LimitsView = Readonly<
  Record<LimitNameOf<RequiredName>, number | null> & { [Name in LimitName]?: number | null } & {
    atOnce?: number
  }
>

export function limitsView(limits: Limits): LimitsView {
  const shown = windows.filter((window) => window.isRequired || isLimited(limits, window))
  const ofWindows = shown.map((window) => [
    window.limit,
    isLimited(limits, window) ? limitOf(limits, window) : null,
  ])
  const { atOnce } = limits
  return {
    ...Object.fromEntries(ofWindows),
    ...(atOnce !== undefined && { atOnce }),
  } as LimitsView
}
