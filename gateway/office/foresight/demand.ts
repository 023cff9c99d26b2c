import type { KeyStore } from '../../front/keys/store.ts'
import type { Plan } from '../../front/limits/plan.ts'
import { dayMs } from '../../../shared/windows.ts'
import { dayText } from '../../front/counts/usage.ts'
import { numbersPerDay, type DayPeak, type PeakStore } from '../../front/counts/peak-store.ts'
import { plannedQuotas, type PlannedQuota } from './planned-quotas.ts'
import { limitsView } from './views.ts'

/** A quota is near its limit from this part of it on. */
export const nearPart = 0.8

/** The most steps of a curve. */
const mostSteps = 200

/** A step of a curve: so many have a peak of at least this. From the lowest peak to the highest. */
export type Step = readonly [peak: number, count: number]

export type Curve = readonly Step[]

/** The distributions of a day in UTC, such as `2030-12-05`. */
export type DayOfPlan = Readonly<{ on: string; minute: Distribution; day: Distribution }>

/** The distribution of the peaks of quotas in one window. */
export type Distribution = Readonly<{
  quotas: number
  median: number
  p90: number
  p99: number
  highest: number
  /** Quotas at 80 % of the plan's limit or more. */
  near: number
  /** Quotas that this limit has refused. */
  refused: number
}>

/** The demand of a plan's quotas in some days. A quota counts in a window if the plan's limit holds for it there. */
export type PlanDemand = Readonly<{
  plan: string
  now: ReturnType<typeof limitsView>
  from: string
  to: string
  quotas: number
  /** The days on which one was used, the first one first. */
  byDay: readonly DayOfPlan[]
  /** The number of quotas whose highest peak in all days is at least so much, and of single days. */
  curves: Readonly<Record<'quotas' | 'days', Readonly<{ minute: Curve; day: Curve }>>>
}>

export type DemandAsk = Readonly<{ plan: Plan; fromDay: number; toDay: number; nowMs: number }>

export async function planDemand(
  stores: Readonly<{ keys: KeyStore; peaks: PeakStore }>,
  { plan, fromDay, toDay, nowMs }: DemandAsk,
): Promise<PlanDemand> {
  const lookedAt = { nowMs, fromMs: fromDay * dayMs }
  const { quotas: planned } = await plannedQuotas(stores.keys, plan, plan, lookedAt)
  const days = new Map<number, Both>()
  const [ofQuotas, ofDays] = [new Both(), new Both()]
  let quotas = 0
  for await (const some of stores.peaks.list(fromDay, toDay)) {
    for (const { quota, numbers } of some) {
      const group = planned.get(quota)
      if (!group) continue
      quotas++
      const all: Peak = { minute: 0, used: 0, refusedByMinute: 0, refusedByDay: 0 }
      for (let i = 0; i < numbers.length; i += numbersPerDay) {
        const day = numbers[i] ?? 0
        const peak: Peak = {
          minute: numbers[i + 1] ?? 0,
          used: numbers[i + 2] ?? 0,
          refusedByMinute: numbers[i + 3] ?? 0,
          refusedByDay: numbers[i + 4] ?? 0,
        }
        ofDays.add(peak, group)
        let both = days.get(day)
        if (!both) days.set(day, (both = new Both()))
        both.add(peak, group)
        raise(all, peak)
      }
      ofQuotas.add(all, group)
    }
  }
  const byDay = []
  for (const [day, { minute, used }] of [...days].sort(([a], [b]) => a - b)) {
    byDay.push({ on: dayText(day), minute: minute.distribution(), day: used.distribution() })
  }
  return {
    plan: plan.name,
    now: limitsView(plan),
    from: dayText(fromDay),
    to: dayText(toDay),
    quotas,
    byDay,
    curves: {
      quotas: { minute: ofQuotas.minute.curve(), day: ofQuotas.used.curve() },
      days: { minute: ofDays.minute.curve(), day: ofDays.used.curve() },
    },
  }
}

/** The peaks of both windows. */
class Both {
  readonly minute = new PeakCounts()
  readonly used = new PeakCounts()

  add({ minute, used, refusedByMinute, refusedByDay }: Peak, { now, holds }: PlannedQuota): void {
    // A preview doesn't judge a quota by the plan in a window in which it has a limit of its own.
    if (holds.perMinute) this.minute.add(minute, now.perMinute, refusedByMinute)
    if (holds.perDay) this.used.add(used, now.perDay, refusedByDay)
  }
}

/** The number of peaks by their height. */
class PeakCounts {
  readonly #counts = new Map<number, number>()
  #all = 0
  #near = 0
  #refused = 0

  add(peak: number, limit: number, refusals: number): void {
    this.#counts.set(peak, (this.#counts.get(peak) ?? 0) + 1)
    this.#all++
    if (peak >= limit * nearPart) this.#near++
    if (refusals > 0) this.#refused++
  }

  distribution(): Distribution {
    const steps = this.#steps()
    /** The lowest peak that no more than a part of all are above. */
    const above = (part: number): number => {
      const most = Math.floor(this.#all * part)
      return steps.find((_step, i) => (steps[i + 1]?.[1] ?? 0) <= most)?.[0] ?? 0
    }
    return {
      quotas: this.#all,
      median: above(0.5),
      p90: above(0.1),
      p99: above(0.01),
      highest: above(0),
      near: this.#near,
      refused: this.#refused,
    }
  }

  /** The steps, or, where they are too many, some of them at equal distances; the first and the last always. */
  curve(): Step[] {
    const steps = this.#steps()
    if (steps.length <= mostSteps) return steps
    const distance = (steps.length - 1) / (mostSteps - 1)
    return Array.from({ length: mostSteps }, (_, i) => steps[Math.round(i * distance)]).filter(
      (step) => step !== undefined,
    )
  }

  #steps(): Step[] {
    let count = this.#all
    return [...this.#counts]
      .sort(([a], [b]) => a - b)
      .map(([peak, ofPeak]) => {
        const step: Step = [peak, count]
        count -= ofPeak
        return step
      })
  }
}

type Peak = { -readonly [Member in Exclude<keyof DayPeak, 'day'>]: DayPeak[Member] }

/** Merges the peaks of a day into those of all days. */
function raise(all: Peak, { minute, used, refusedByMinute, refusedByDay }: Peak): void {
  all.minute = Math.max(all.minute, minute)
  all.used = Math.max(all.used, used)
  all.refusedByMinute += refusedByMinute
  all.refusedByDay += refusedByDay
}
