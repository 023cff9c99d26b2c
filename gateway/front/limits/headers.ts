import { beyondBy } from './beyond.ts'
import { endOf } from './counters.ts'
import { mostLimit } from './limit-settings.ts'
import { isLimited, limitedIn, limitOf, noLimits, type Limits } from './limits.ts'
import { crowded } from './places.ts'
import { leftIn } from './purse.ts'
import { usedByPart, type Part, type PartState } from './parts.ts'
import { neededBy, usedBy, type Decision } from './step.ts'
import { secondsOf } from '../../../shared/retry-after.ts'
import { windows, type Window, type WindowName } from '../../../shared/windows.ts'

/** The drafts of the IETF's two fields that this version writes, the newest last. */
export const ietfDrafts = ['draft-11'] as const
export type IetfDraft = (typeof ietfDrafts)[number]

/** `left`: the bought points of a prepaid window that are left. */
type Metered = Readonly<{ included: number; beyond: number; left?: number }>

/** One window of a decision, as headers and bodies show it. */
export type WindowState = Readonly<{
  window: Window
  /** The operation or cap whose window it is; `undefined` for the quota's own. */
  part: Part | undefined
  limit: number
  remaining: number
  resetMs: number
  /** The points that are included, and those beyond them, where these are metered. */
  metered?: Metered
}>

/** The window that stops the caller first, which the headers show; `undefined` for an unlimited caller. */
export function decisiveWindow(decision: Decision, limits: Limits): WindowState | undefined {
  if (decision.verdict === 'banned') return bannedWindow(decision, limits)
  let first = firstOf(decision, limits, undefined)
  for (const part of decision.parts ?? []) {
    const other = firstOf(decision, limits, part)
    if (other && (!first || stopsBefore(other, first, decision))) first = other
  }
  return first
}

/** Of the windows of a quota, or of a part: the one that refuses for longest, else the one with the fewest remaining. */
function firstOf(
  decision: Decision,
  limits: Limits,
  part: PartState | undefined,
): WindowState | undefined {
  const isRefused = decision.verdict === 'refused'
  const needed = neededBy(decision)
  const counters = part?.counters ?? decision.seen
  let [least, full]: (Window | undefined)[] = []
  let leastRemaining = Infinity
  for (const { window, limit } of limitedIn(part?.part.limits ?? limits)) {
    const used = part ? usedByPart(part, window) : usedBy(decision, window)
    if (isRefused && limit - used < needed) {
      if (!full || endOf(counters, window) > endOf(counters, full)) full = window
    }
    if (window.isBrief || limit - used >= leastRemaining) continue
    least = window
    leastRemaining = limit - used
  }
  const told = full ?? least
  return told && stateOf(told, decision, limits, part)
}

/** Of two windows that refuse, the one that ends later stops a caller first; else that with fewer remaining, of equals the longer one. */
function stopsBefore(one: WindowState, other: WindowState, decision: Decision): boolean {
  const isLonger = one.window.index > other.window.index
  const [refuses, otherRefuses] = [one, other].map(
    ({ remaining }) => decision.verdict === 'refused' && remaining < neededBy(decision),
  )
  if (refuses !== otherRefuses) return refuses === true
  if (refuses && one.resetMs !== other.resetMs) return one.resetMs > other.resetMs
  if (refuses || one.remaining === other.remaining) return isLonger
  return one.remaining < other.remaining
}

/** The shortest window that isn't brief, until the end of the ban. */
function bannedWindow(decision: Decision, limits: Limits): WindowState | undefined {
  const shown = limitedIn(limits).findLast(({ window }) => !window.isBrief)
  if (!shown) return undefined
  const state = stateOf(shown.window, decision, limits, undefined)
  return { ...state, remaining: 0, resetMs: decision.bannedUntilMs }
}

/** The windows that have a limit, or meter what lies beyond; of a part, or of the quota itself. */
export function limitedWindows(
  decision: Decision,
  limits: Limits,
  part?: PartState,
): Partial<Record<WindowName, WindowState>> {
  const own = part?.part.limits ?? limits
  const included = part ? noLimits : (decision.included ?? noLimits)
  const limited = windows.filter((window) => isLimited(own, window) || isLimited(included, window))
  return Object.fromEntries(
    limited.map((window) => [window.name, stateOf(window, decision, limits, part)]),
  )
}

/** A decision and the limits behind it: all that an answer's headers show. */
export type Standing = Readonly<{ decision: Decision; limits: Limits }>

/** The points of the window that stops a caller first, those left, and its end in Unix seconds. */
export type ToldStanding = Readonly<{ limit: number; remaining: number; reset: number }>

/** A standing as apps are told of it; `undefined` for an unlimited caller. */
export function toldOf({ decision, limits }: Standing): ToldStanding | undefined {
  const state = decisiveWindow(decision, limits)
  return state && told(state)
}

function told({ limit, remaining, resetMs }: WindowState): ToldStanding {
  return { limit, remaining, reset: Math.ceil(resetMs / 1000) }
}

/** The three headers of every answer, and the IETF's two for a draft. Those go by the `Retry-After` of that answer. */
export function rateHeaders(
  { decision, limits }: Standing,
  draft: IetfDraft | undefined,
  retryAfter?: unknown,
): Record<string, string> {
  const state = decisiveWindow(decision, limits)
  if (!state) return {}
  const { limit, remaining, reset } = told(state)
  const headers: Record<string, string> = {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(reset),
  }
  if (draft) Object.assign(headers, ietfHeaders(state, decision, limits, retryAfter))
  return headers
}

/** The time from which on a refused caller is let in, by its decisive window. */
export function endOfWait(
  { verdict, bannedUntilMs, nowMs }: Decision,
  decisive?: WindowState,
): number {
  return verdict === 'banned' ? bannedUntilMs : (decisive?.resetMs ?? nowMs)
}

/** Whole seconds until the next window: a caller that waits exactly as long is admitted. */
export function secondsToWait(resetMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((Math.ceil(resetMs / 1000) * 1000 - nowMs) / 1000))
}

function stateOf(
  window: Window,
  decision: Decision,
  limits: Limits,
  part: PartState | undefined,
): WindowState {
  const included = part || !decision.included ? Infinity : limitOf(decision.included, window)
  const limit = limitOf(part?.part.limits ?? limits, window)
  const used = part ? usedByPart(part, window) : usedBy(decision, window)
  return {
    window,
    part: part?.part,
    limit,
    // A limit may have been lowered below the usage.
    remaining: Math.max(0, limit - used),
    resetMs: endOf(part?.counters ?? decision.seen, window),
    ...(included < Infinity && {
      metered: {
        included,
        beyond: beyondBy(decision, window, included),
        ...leftOf(decision, window),
      },
    }),
  }
}

function leftOf({ purse }: Decision, window: Window): Pick<Metered, 'left'> {
  return purse?.window === window ? { left: leftIn(purse) } : {}
}

/** The limit of a window's policy, which doesn't move: of a prepaid one, what is included. */
function policyLimit(
  { purse, included }: Decision,
  limits: Limits,
  window: Window,
  part: Part | undefined,
): number {
  const isBought = !part && included && purse?.window === window
  return limitOf(part?.limits ?? (isBought ? included : limits), window)
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-11. A client must not take the end of a window for the time to come
 * back that the answer tells: with an earlier `Retry-After` there is only the policy.
 */
function ietfHeaders(
  state: WindowState,
  decision: Decision,
  limits: Limits,
  retryAfter: unknown,
): Record<string, string> {
  const { parts, places = [], verdict, nowMs } = decision
  const ofWindows = [undefined, ...(parts ?? []).map((each) => each.part)].flatMap((each) =>
    windows
      .filter((window) => isLimited(each?.limits ?? limits, window))
      .map(
        (window) =>
          `${policyName(window, each)};q=${digits(policyLimit(decision, limits, window, each))}${widthOf(window)}`,
      ),
  )
  const ofPlaces = places.map(
    ({ part, limit }) => `${policyName(atOnce, part)};q=${limit};qu="concurrent-requests"`,
  )
  const seconds = secondsToWait(state.resetMs, nowMs)
  const policy = { 'ratelimit-policy': [...ofWindows, ...ofPlaces].join(', ') }
  if (verdict === 'crowded') {
    return { ...policy, ratelimit: `${policyName(atOnce, crowded(places)?.part)};r=0` }
  }
  if (seconds > (secondsOf(retryAfter, nowMs) ?? Infinity)) return policy
  const name = policyName(state.window, state.part)
  return { ...policy, ratelimit: `${name};r=${digits(state.remaining)};t=${seconds}` }
}

/** A number as RFC 9651 writes integers; grants may add up to more than it has digits for. */
function digits(count: number): number {
  return Math.min(count, mostLimit)
}

/** Stands among windows for requests under way. */
const atOnce = { name: 'at-once' }

/** The name of a window's policy, such as `"day"`, `"exports-hour"` or `"cap-day"`. */
function policyName({ name }: { readonly name: string }, part: Part | undefined): string {
  return part ? `"${part.operation ?? 'cap'}-${name}"` : `"${name}"`
}

/** The length of a window in seconds; a month has no fixed one. */
function widthOf({ lengthMs }: Window): string {
  return lengthMs === undefined ? '' : `;w=${lengthMs / 1000}`
}
