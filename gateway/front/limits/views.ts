import { endIso } from '../../../shared/times.ts'
import type { Ban } from './store.ts'
import { limitedWindows, type Standing, type WindowState } from './headers.ts'
import { noticeOf, type NearEnds } from './near.ts'
import type { Part, PartState } from './parts.ts'
import { nameOfPart, type PlaceState } from './places.ts'
import type { BanRules } from './conduct.ts'
import { windows, type RequiredName, type WindowName } from '../../../shared/windows.ts'

/** A ban as operators are told of it. */
export function banView({ key, name, untilMs }: Pick<Ban, 'key' | 'untilMs'> & { name?: string }) {
  return { id: key, name, until: endIso(untilMs) }
}

export type BanView = ReturnType<typeof banView>

/** How a caller stands: what it is told itself at the quota path, and an operator by its key. */
export function standingView(plan: string, standing: Standing) {
  const { strikes, bannedUntilMs } = standing.decision
  return {
    plan,
    ...windowViews(limitedWindows(standing.decision, standing.limits)),
    ...placesView(standing.decision.places, undefined),
    strikes,
    bannedUntil: bannedUntilMs > 0 ? Math.ceil(bannedUntilMs / 1000) : null,
  }
}

/** How a caller stands, as the quota path tells it: also where strikes become a ban, and whether a long window is nearly used up. */
export function ownStandingView(
  plan: string,
  standing: Standing & Readonly<{ parts?: readonly PartState[] | undefined }>,
  { bans, near }: Readonly<{ bans?: BanRules | undefined; near?: NearEnds | undefined }> = {},
) {
  return {
    ...standingView(plan, standing),
    ...partViews(standing),
    strikesToBan: bans?.strikes ?? null,
    notice: noticeOf(standing, near) ?? null,
  }
}

export type OwnStanding = ReturnType<typeof ownStandingView>

/** The windows of operations and of the cap that have a limit. */
export function partViews({
  decision,
  limits,
  parts = decision.parts,
}: Standing & Readonly<{ parts?: readonly PartState[] | undefined }>): PartViews {
  const views = (parts ?? []).map((state) => {
    const view = {
      ...limitedViews(limitedWindows(decision, limits, state)),
      ...placesView(decision.places, state.part),
    }
    return [state.part.operation, view] as const
  })
  const operations = views.flatMap(([name, view]) =>
    name === undefined ? [] : [[name, view] as const],
  )
  const cap = views.find(([name]) => name === undefined)?.[1]
  return {
    ...(operations.length > 0 && {
      operations: Object.fromEntries(operations),
    }),
    ...(cap && { cap }),
  }
}

export type PartViews = Readonly<{ operations?: Record<string, LimitedViews>; cap?: LimitedViews }>

export type LimitedViews = Readonly<Partial<Record<WindowName, WindowView>> & PlacesView>

/** How many requests may be under way, and how many are: more, where the limit was lowered. Left out without a limit. */
export type PlacesView = Readonly<{ atOnce?: { limit: number; used: number } }>

function placesView(places: readonly PlaceState[] = [], part: Part | undefined): PlacesView {
  const state = places.find((each) => nameOfPart(each.part) === nameOfPart(part))
  return state ? { atOnce: { limit: state.limit, used: state.used } } : {}
}

function limitedViews(states: Partial<Record<WindowName, WindowState>>): LimitedViews {
  const limited = windows.flatMap(({ name }) => {
    const state = states[name]
    return state ? [[name, windowView(state)] as const] : []
  })
  return Object.fromEntries(limited)
}

/**
 * A window; without a limit that refuses, where what lies beyond is metered without end. Of a prepaid one the limit is what was
 * used with what is left, included or bought.
 */
export type WindowView = Readonly<{
  limit: number | null
  remaining: number | null
  reset: number
  included?: number
  beyond?: number
  prepaid?: Readonly<{ left: number }>
}>

/** The windows that have a limit, and `null` for those whose limit each plan says. */
export type WindowViews = Readonly<
  Record<RequiredName, WindowView | null> & { [Name in WindowName]?: WindowView | null }
>

function windowViews(states: Partial<Record<WindowName, WindowState>>): WindowViews {
  const views: Partial<Record<WindowName, WindowView | null>> = {}
  for (const { name, isRequired } of windows) {
    const state = states[name]
    if (state) views[name] = windowView(state)
    else if (isRequired) views[name] = null
  }
  return views as WindowViews
}

function windowView({ limit, remaining, resetMs, metered }: WindowState): WindowView {
  const bounds = limit === Infinity ? { limit: null, remaining: null } : { limit, remaining }
  const { left, ...points } = metered ?? {}
  const bought = left !== undefined && { prepaid: { left } }
  return { ...bounds, reset: Math.ceil(resetMs / 1000), ...points, ...bought }
}
