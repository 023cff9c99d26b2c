import type { Stores } from '../../front/stores/stores.ts'
import { fits } from '../../front/limits/counters.ts'
import type { Plan } from '../../front/limits/plan.ts'
import type { QuotaStore } from '../../front/limits/store.ts'
import {
  dayMs,
  memberName,
  type ByName,
  type OptionalName,
  type RequiredName,
  type Window,
  type MemberName,
} from '../../../shared/windows.ts'
import { dayText } from '../../front/counts/usage.ts'
import { boundOf } from './bound.ts'
import { heldAgainst, type HeldQuota } from './held-quotas.ts'
import { plannedQuotas, type PlannedQuota } from './planned-quotas.ts'
import { unsaidOf, variableText } from './caveats.ts'
import { changedWindows, limitsView, sumOf, windowsOf, type LimitsView } from './views.ts'

/** The most grants that are counted. */
const mostGrants = 1_000

/** Quotas that are asked about at a time. */
const batchSize = 100

/** The highest use of each window, such as `peakMinute`: of the required ones, and of those that are limited now or then. */
export type Peaks = Readonly<
  Record<MemberName<'peak', RequiredName>, number> & {
    [Name in MemberName<'peak', OptionalName>]?: number
  }
>

/** A quota that the change would have refused. */
export type HitQuota = ReturnType<typeof hitView>

/** A quota that a raised limit has refused. */
export type RefusedQuota = ReturnType<typeof refusedView>

/** The effect that a change of a plan would have had in some days. */
export type PlanPreview = Readonly<Awaited<ReturnType<typeof previewPlan>>>

export type PreviewStores = Pick<Stores, 'keys' | 'quota' | 'peaks' | 'audit'>

export type PreviewAsk = Readonly<{
  /** The name of the plan. */
  name: string
  /** The plan as it is; `variable` if the environment of a gateway elsewhere decides it. */
  now: Plan | 'variable'
  /** The plan as it would be; `undefined` if it is taken away, `variable` if the environment decides it. */
  then: Plan | 'variable' | undefined
  fromDay: number
  toDay: number
  nowMs: number
  /** The most quotas in each list. */
  limit: number
}>

/** Holds a changed plan against the peaks of the quotas that have it. */
export async function previewPlan(stores: PreviewStores, ask: PreviewAsk) {
  const { name, now, then, fromDay, toDay, limit } = ask
  const about = {
    plan: name,
    /** The limits now and then; `null` if the plan is taken away, or if a variable of the environment decides them. */
    now: viewOf(now),
    then: viewOf(then),
    from: dayText(fromDay),
    to: dayText(toDay),
  }
  if (now === 'variable' || then === 'variable') {
    const none = { quotas: 0, days: 0, hitQuotas: 0, hitDays: 0, hitNow: 0, refusedQuotas: 0 }
    return {
      ...about,
      bound: 'lower' as const,
      ...none,
      hit: [],
      refused: [],
      unsaid: [variableText(name)],
    }
  }
  const fromMs = fromDay * dayMs
  const planned = await plannedQuotas(stores.keys, now, then, ask.nowMs)
  const outcome = await heldAgainst(stores.peaks, planned, ask)
  const ofLimits = await boundOf(stores.audit, { now, then, fromDay })
  const bound = outcome.unrecorded.size > 0 ? 'lower' : ofLimits
  const grants = await stores.audit.list({ fromMs, what: 'quota.grant', limit: mostGrants })
  const without = await refusedNow(stores.quota, outcome.near)
  const shown = windowsOf([about.now, about.then])
  const hit = outcome.hit.toSorted(byDays).slice(0, limit)
  const refused = outcome.refused.toSorted(byRefusals).slice(0, limit)
  return {
    ...about,
    /** Whether the quotas and days are exactly those, or at least those. */
    bound,
    /** Quotas that were used in these days, and the sum of the days on which each was used. */
    quotas: outcome.quotas,
    days: outcome.days,
    /** The numbers of all, where the lists are cut. */
    hitQuotas: outcome.hit.length,
    hitDays: outcome.hitDays,
    hitNow: without.size,
    hit: hit.map((each) => hitView(each, { plan: name, shown }, without)),
    /** For raised limits: who was refused by them. */
    refusedQuotas: outcome.refused.length,
    refused: refused.map((each) => refusedView(each, { plan: name, shown })),
    /** Sentences about what this can't tell, or has left out. */
    unsaid: unsaidOf({
      bound: ofLimits,
      planned,
      changed: changedWindows(about.now, about.then),
      unrecorded: [...outcome.unrecorded],
      fromDay,
      firstDay: outcome.firstDay,
      grants: grants.length,
    }),
  }
}

/** The quotas whose next request of one point would be refused by the limits then, by their counters of now. */
async function refusedNow(
  store: QuotaStore,
  quotas: readonly PlannedQuota[],
): Promise<ReadonlySet<string>> {
  const refused = new Set<string>()
  const ask = (some: readonly PlannedQuota[]): Promise<unknown> => {
    const asked = Promise.all(some.map(decide))
    // If the batch before it fails, nobody takes its error.
    asked.catch(() => undefined)
    return asked
  }
  const decide = async ({ quota, key, then, isShutOut }: PlannedQuota): Promise<void> => {
    if (isShutOut) return void refused.add(quota)
    const { seen } = await store.decide(quota, { key, cost: 0, limits: then })
    if (!fits(seen, 1, then)) refused.add(quota)
  }
  // The store answers for the next ones while these are read.
  let before: Promise<unknown> = Promise.resolve()
  for (let start = 0; start < quotas.length; start += batchSize) {
    const asked = ask(quotas.slice(start, start + batchSize))
    await before
    before = asked
  }
  await before
  return refused
}

function viewOf(plan: Plan | 'variable' | undefined): LimitsView | null {
  return plan === undefined || plan === 'variable' ? null : limitsView(plan)
}

/** The plan of a preview, and the windows that it shows. */
type Shown = Readonly<{ plan: string; shown: readonly Window[] }>

function hitView(seen: HeldQuota, about: Shown, without: ReadonlySet<string>) {
  const daysHit = seen.dates.map(dayText).sort()
  return { ...quotaView(seen, about), daysHit, refusedNow: without.has(seen.planned.quota) }
}

function refusedView(seen: HeldQuota, about: Shown) {
  const numbers = about.shown.map(({ name }) => [name, seen.refused[name]])
  const refused = Object.fromEntries(numbers) as ByName<number>
  return { ...quotaView(seen, about), daysRefused: seen.dates.map(dayText).sort(), refused }
}

/**
 * A quota with its key with the lowest id, and that key's name; `keys` is the number of its keys with this plan, and `days` that
 * of the days on which it was used.
 */
function quotaView({ planned, days, most }: HeldQuota, { plan, shown }: Shown) {
  const { quota, key, name, account, keys } = planned
  const peaks = Object.fromEntries(
    shown.map((window) => [memberName('peak', window.name), most[window.name]]),
  ) as Peaks
  return { quota, key, name, account, keys, plan, days, ...peaks }
}

function byDays(a: HeldQuota, b: HeldQuota): number {
  return b.dates.length - a.dates.length || byName(a.planned, b.planned)
}

function byRefusals(a: HeldQuota, b: HeldQuota): number {
  return sumOf(b.refused) - sumOf(a.refused) || byName(a.planned, b.planned)
}

/** In an order that is the same everywhere, so that a script can compare two outputs. */
function byName(a: PlannedQuota, b: PlannedQuota): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.quota < b.quota ? -1 : 1
}
