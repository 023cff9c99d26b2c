import { entryOf } from '../../../shared/entry-of.ts'
import type { KeyStore } from '../../front/keys/store.ts'
import type { Plan } from '../../front/limits/plan.ts'
import type { ByName, Window } from '../../../shared/windows.ts'
import { limitOf, recordedWith } from '../../front/limits/limits.ts'
import { dayText } from '../../front/counts/usage.ts'
import {
  numbersPerDay,
  placeOf,
  unrecorded,
  type PeakStore,
} from '../../front/counts/peak-store.ts'
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
export type DayOfPlan = Readonly<{ on: string } & ByName<Distribution>>

/** The distribution of the peaks of quotas in one window. */
export type Distribution = ReturnType<PeakCounts['distribution']>

/**
 * The demand of a plan's quotas in some days, in the required windows and in those that it limits. A quota counts in a window
 * if the plan's limit holds for it there, and if its use of it was recorded.
 */
export type PlanDemand = Awaited<ReturnType<typeof planDemand>>

export type DemandAsk = Readonly<{ plan: Plan; fromDay: number; toDay: number; nowMs: number }>

export async function planDemand(
  stores: Readonly<{ keys: KeyStore; peaks: PeakStore }>,
  { plan, fromDay, toDay, nowMs }: DemandAsk,
) {
  const { quotas: planned } = await plannedQuotas(stores.keys, plan, plan, nowMs)
  const shown = plan.limits === 'custom' ? recordedWith() : recordedWith(plan.limits)
  const days = new Map<number, PlanPeaks>()
  const [ofQuotas, ofDays] = [new PlanPeaks(shown), new PlanPeaks(shown)]
  let quotas = 0
  for await (const some of stores.peaks.list(fromDay, toDay)) {
    for (const { quota, numbers } of some) {
      const group = planned.get(quota)
      if (!group) continue
      quotas++
      const all = numbers.slice(0, numbersPerDay)
      for (let i = 0; i < numbers.length; i += numbersPerDay) {
        const day = numbers[i] ?? 0
        ofDays.add(numbers, i, group)
        entryOf(days, day, () => new PlanPeaks(shown)).add(numbers, i, group)
        if (i > 0) raise(all, numbers, i, shown)
      }
      ofQuotas.add(all, 0, group)
    }
  }
  const byDay: DayOfPlan[] = []
  for (const [day, peaks] of [...days].sort(([a], [b]) => a - b)) {
    byDay.push({ on: dayText(day), ...peaks.views((counts) => counts.distribution()) })
  }
  const curve = (counts: PeakCounts): Curve => counts.curve()
  return {
    plan: plan.name,
    now: limitsView(plan),
    from: dayText(fromDay),
    to: dayText(toDay),
    quotas,
    /** The days on which one was used, the first one first. */
    byDay,
    /** The number of quotas whose highest peak in all days is at least so much, and of single days. */
    curves: { quotas: ofQuotas.views(curve), days: ofDays.views(curve) },
  }
}

/** The peaks of each window of a plan. */
class PlanPeaks {
  readonly #counts: readonly (readonly [window: Window, place: number, counts: PeakCounts])[]

  constructor(shown: readonly Window[]) {
    this.#counts = shown.map((window) => [window, placeOf(window), new PeakCounts()])
  }

  /** Adds the day whose numbers begin at a place. */
  add(numbers: readonly number[], at: number, { now, holds }: PlannedQuota): void {
    for (const [window, place, counts] of this.#counts) {
      const peak = numbers[at + place] ?? unrecorded
      // A preview doesn't judge a quota by the plan in a window in which it has a limit of its own.
      if (!holds[window.name] || peak === unrecorded) continue
      counts.add(peak, limitOf(now, window), numbers[at + place + 1] ?? 0)
    }
  }

  views<View>(viewOf: (counts: PeakCounts) => View): ByName<View> {
    const views = this.#counts.map(([{ name }, , counts]) => [name, viewOf(counts)])
    return Object.fromEntries(views) as ByName<View>
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

  distribution() {
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
      /** Quotas at 80 % of the plan's limit or more. */
      near: this.#near,
      /** Quotas that this limit has refused. */
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

/** Merges the numbers of a day into those of all days. */
function raise(all: number[], numbers: readonly number[], at: number, shown: readonly Window[]) {
  for (const window of shown) {
    const place = placeOf(window)
    all[place] = Math.max(all[place] ?? 0, numbers[at + place] ?? 0)
    all[place + 1] = (all[place + 1] ?? 0) + (numbers[at + place + 1] ?? 0)
  }
}
