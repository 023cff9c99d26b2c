import { dayMs } from '../../../../shared/windows.ts'
import { newQuota, type Numbered, type QuotaState } from '../../limits/quota-state.ts'
import { pastDays } from '../../limits/past-points.ts'

/** The adjustments of a gateway that were made: the number below which it repeats none, those from there on, and the day of the last one. */
type Made = Readonly<{ from: number; numbers: readonly number[]; day: number }>

/** A quota that several gateways count, with what only they need. */
export type SharedQuota = QuotaState & { adjusted?: Map<string, Made> }

/** The text of a quota. Stores of an app's own keep it, and look at none of it. */
export function textOf(quota: SharedQuota): string {
  return JSON.stringify(quota, (_, value: unknown) =>
    value instanceof Map ? { map: [...(value as Map<unknown, unknown>)] } : value,
  )
}

/** The quota of a text; a new one without a text, or if it is damaged. */
export function quotaFrom(text: string | undefined): SharedQuota {
  try {
    const quota = JSON.parse(text ?? 'null', mapsAgain) as Partial<SharedQuota> | null
    return isQuota(quota) ? quota : newQuota()
  } catch {
    return newQuota()
  }
}

function mapsAgain(_: string, value: unknown): unknown {
  const { map } = (value ?? {}) as Readonly<{ map?: unknown }>
  return Array.isArray(map) ? new Map(map as [unknown, unknown][]) : value
}

function isQuota(quota: Partial<SharedQuota> | null): quota is SharedQuota {
  const { total, generation, monthFrom, marks } = quota ?? {}
  return [total, generation, monthFrom, ...(marks ?? [undefined])].every(Number.isFinite)
}

/** Whether an adjustment was made already. Notes it, as `redis/adjusted.lua` does. */
export function isMade(quota: SharedQuota, { by, number, from }: Numbered, nowMs: number): boolean {
  const adjusted = (quota.adjusted ??= new Map<string, Made>())
  const own = adjusted.get(by)
  if (own && (number < own.from || own.numbers.includes(number))) return true
  const day = Math.floor(nowMs / dayMs)
  if (!own) {
    // Gateways that are gone have left theirs: each start has a new name.
    for (const [other, made] of adjusted) if (made.day + pastDays < day) adjusted.delete(other)
  }
  const first = Math.max(own?.from ?? 0, from)
  const numbers = [...(own?.numbers ?? []).filter((each) => each >= first), number]
  adjusted.set(by, { from: first, numbers, day })
  return false
}
