import { timeText } from '../../../shared/times.ts'
import { mergedLimits, type LimitSettings } from '../limits/limit-settings.ts'
import type { Key } from './key.ts'
import { KeyMistake } from './mistake.ts'
import { changedCap, type KeySettings } from './settings.ts'

/** The plan and the own limits of a key at a time, and the time at which one of them ends by itself. */
export type InForce = Readonly<{
  plan: string
  limits: LimitSettings | undefined
  changesAtMs: number | undefined
}>

/** The ends of a change: a time, or `null` for an end of what is temporary now. */
export type Ends = Readonly<{
  plan?: number | null | undefined
  limits?: number | null | undefined
}>

/** The settings of a key that are in force at a time. */
export function settingsAt(
  key: Pick<Key, 'plan' | 'limits' | 'outsideLimits' | 'temporaryPlan' | 'temporaryLimits'>,
  nowMs: number,
): InForce {
  const { temporaryPlan, temporaryLimits } = running(key, nowMs)
  if (!temporaryPlan && !temporaryLimits) {
    return { plan: key.plan, limits: lastingLimits(key), changesAtMs: undefined }
  }
  const { untilMs = Infinity, ...limits } = temporaryLimits ?? {}
  return {
    plan: temporaryPlan?.plan ?? key.plan,
    limits: temporaryLimits ? { ...lastingLimits(key), ...limits } : lastingLimits(key),
    changesAtMs: Math.min(untilMs, temporaryPlan?.untilMs ?? Infinity),
  }
}

/** The own limits of a key without an end: an operator's, before those that somebody else says it has. */
export function lastingLimits({
  limits,
  outsideLimits,
}: Pick<Key, 'limits' | 'outsideLimits'>): LimitSettings | undefined {
  return outsideLimits ? mergedLimits(limits, outsideLimits) : limits
}

/** The plan and the limits of a key that end by themselves, while they last. */
export function running(
  { temporaryPlan, temporaryLimits }: Pick<Key, 'temporaryPlan' | 'temporaryLimits'>,
  nowMs: number,
): Pick<Key, 'temporaryPlan' | 'temporaryLimits'> {
  return {
    temporaryPlan: temporaryPlan && temporaryPlan.untilMs > nowMs ? temporaryPlan : undefined,
    temporaryLimits:
      temporaryLimits && temporaryLimits.untilMs > nowMs ? temporaryLimits : undefined,
  }
}

/** The settings of a key in each period from a time on. */
export function settingsFrom(key: Key, nowMs: number): readonly InForce[] {
  const now = settingsAt(key, nowMs)
  return now.changesAtMs === undefined ? [now] : [now, ...settingsFrom(key, now.changesAtMs)]
}

/**
 * A key with changed settings. A plan or limits with an end leave the former ones underneath; without one, they replace
 * temporary ones too.
 */
export function changedKey(
  key: Key,
  { plan, limits, ...others }: Partial<KeySettings>,
  ends: Ends,
  nowMs: number,
): Key {
  const now = running(key, nowMs)
  const keeps = { ...key, ...now, ...others }
  const temporaryPlan =
    typeof ends.plan === 'number' && plan !== undefined
      ? { plan, untilMs: ends.plan }
      : plan === undefined && ends.plan !== null
        ? now.temporaryPlan
        : undefined
  const isForGood = typeof ends.limits !== 'number'
  const temporaryLimits = isForGood
    ? ends.limits === null
      ? undefined
      : without(now.temporaryLimits, limits)
    : { ...limits, untilMs: ends.limits }
  const account = 'account' in others ? others.account : key.account
  const cap = changedCap(key, { cap: { ...key.cap, ...others.cap }, account }, nowMs)
  return {
    ...keeps,
    cap,
    plan: typeof ends.plan === 'number' ? key.plan : (plan ?? key.plan),
    limits: isForGood ? { ...key.limits, ...limits } : key.limits,
    temporaryPlan,
    temporaryLimits,
  }
}

/** Temporary limits without those that a change for good replaces. */
function without(
  temporary: Key['temporaryLimits'],
  limits: LimitSettings = {},
): Key['temporaryLimits'] {
  if (!temporary) return undefined
  const left = Object.entries(temporary).filter(
    ([name, limit]) => name !== 'untilMs' && limit !== undefined && !(name in limits),
  )
  return left.length > 0 ? { ...Object.fromEntries(left), untilMs: temporary.untilMs } : undefined
}

/** Throws a `KeyMistake` if an end is over, or never comes because the key expires before it. */
export function requireEnds({ expiresAtMs = Infinity }: Key, ends: Ends, nowMs: number): void {
  for (const endMs of [ends.plan, ends.limits]) {
    if (typeof endMs !== 'number') continue
    const end = timeText(endMs)
    if (endMs <= nowMs) throw new KeyMistake(`the end ${end} is in the past`)
    if (endMs > expiresAtMs) {
      const expiry = timeText(expiresAtMs)
      throw new KeyMistake(`the end ${end} never comes: the key expires before it, at ${expiry}`)
    }
  }
}
