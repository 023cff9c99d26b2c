import type { KeyStore } from '../../front/keys/store.ts'
import type { Plan } from '../../front/limits/plan.ts'
import { dayMs } from '../../../shared/windows.ts'
import type { QuotaStore } from '../../front/limits/store.ts'
import type { AuditStore } from '../../front/records/audit-store.ts'
import { dayText } from '../../front/counts/usage.ts'
import { boundOf, type Bound } from './bound.ts'
import { heldAgainst, type HeldQuota } from './held-quotas.ts'
import type { PeakStore } from '../../front/counts/peak-store.ts'
import { plannedQuotas, type PlannedQuota } from './planned-quotas.ts'
import { refusedNow } from './refused-now.ts'
import { unsaidOf, variableText } from './caveats.ts'
import { limitsView, type LimitsView } from './views.ts'

/** The most grants that are counted. */
const mostGrants = 1_000

/** A quota that the change would have refused. */
export type HitQuota = Readonly<{
  quota: string
  /** Its key with the lowest id, and that key's name; `keys` is the number of its keys with this plan. */
  key: string
  name: string
  account: string | undefined
  keys: number
  plan: string
  /** The number of days on which it was used. */
  days: number
  daysHit: readonly string[]
  peakMinute: number
  peakDay: number
  /** Whether its next request would be refused, if the change were in force now. */
  refusedNow: boolean
}>

/** A quota that a raised limit has refused. */
export type RefusedQuota = Omit<HitQuota, 'daysHit' | 'refusedNow'> &
  Readonly<{ daysRefused: readonly string[]; refused: Readonly<{ minute: number; day: number }> }>

/** The effect that a change of a plan would have had in some days. */
export type PlanPreview = Readonly<{
  plan: string
  /** The limits now and then; `null` if the plan is taken away, or if a variable of the environment decides them. */
  now: LimitsView | null
  then: LimitsView | null
  /** Whether the quotas and days are exactly those, or at least those. */
  bound: Bound
  from: string
  to: string
  /** Quotas that were used in these days, and the sum of the days on which each was used. */
  quotas: number
  days: number
  /** The numbers of all, where the lists are cut. */
  hitQuotas: number
  hitDays: number
  hitNow: number
  hit: readonly HitQuota[]
  /** For raised limits: who was refused by them. */
  refusedQuotas: number
  refused: readonly RefusedQuota[]
  /** Sentences about what this can't tell, or has left out. */
  unsaid: readonly string[]
}>

export type PreviewStores = Readonly<{
  keys: KeyStore
  quota: QuotaStore
  peaks: PeakStore
  audit: AuditStore
}>

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
export async function previewPlan(stores: PreviewStores, ask: PreviewAsk): Promise<PlanPreview> {
  const { name, now, then, fromDay, toDay, limit } = ask
  const about = {
    plan: name,
    now: viewOf(now),
    then: viewOf(then),
    from: dayText(fromDay),
    to: dayText(toDay),
  }
  if (now === 'variable' || then === 'variable') {
    const none = { quotas: 0, days: 0, hitQuotas: 0, hitDays: 0, hitNow: 0, refusedQuotas: 0 }
    return { ...about, bound: 'lower', ...none, hit: [], refused: [], unsaid: [variableText(name)] }
  }
  const fromMs = fromDay * dayMs
  const planned = await plannedQuotas(stores.keys, now, then, { nowMs: ask.nowMs, fromMs })
  const outcome = await heldAgainst(stores.peaks, planned, ask)
  const bound = await boundOf(stores.audit, { now, then, fromDay })
  const grants = await stores.audit.list({ fromMs, what: 'quota.grant', limit: mostGrants })
  const without = await refusedNow(stores.quota, outcome.near)
  const hit = outcome.hit.toSorted(byDays).slice(0, limit)
  const refused = outcome.refused.toSorted(byRefusals).slice(0, limit)
  return {
    ...about,
    bound,
    quotas: outcome.quotas,
    days: outcome.days,
    hitQuotas: outcome.hit.length,
    hitDays: outcome.hitDays,
    hitNow: without.size,
    hit: hit.map((each) => hitView(each, name, without)),
    refusedQuotas: outcome.refused.length,
    refused: refused.map((each) => refusedView(each, name)),
    unsaid: unsaidOf({
      bound,
      planned,
      fromDay,
      firstDay: outcome.firstDay,
      grants: grants.length,
    }),
  }
}

function viewOf(plan: Plan | 'variable' | undefined): LimitsView | null {
  return plan === undefined || plan === 'variable' ? null : limitsView(plan)
}

function hitView(seen: HeldQuota, plan: string, without: ReadonlySet<string>): HitQuota {
  const daysHit = seen.dates.map(dayText).sort()
  return { ...quotaView(seen, plan), daysHit, refusedNow: without.has(seen.planned.quota) }
}

function refusedView(seen: HeldQuota, plan: string): RefusedQuota {
  const { dates, byMinute, byDay } = seen
  const refused = { minute: byMinute, day: byDay }
  return { ...quotaView(seen, plan), daysRefused: dates.map(dayText).sort(), refused }
}

function quotaView({ planned, days, peakMinute, peakDay }: HeldQuota, plan: string) {
  const { quota, key, name, account, keys } = planned
  return { quota, key, name, account, keys, plan, days, peakMinute, peakDay }
}

function byDays(a: HeldQuota, b: HeldQuota): number {
  return b.dates.length - a.dates.length || byName(a.planned, b.planned)
}

function byRefusals(a: HeldQuota, b: HeldQuota): number {
  return b.byMinute + b.byDay - a.byMinute - a.byDay || byName(a.planned, b.planned)
}

/** In an order that is the same everywhere, so that a script can compare two outputs. */
function byName(a: PlannedQuota, b: PlannedQuota): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.quota < b.quota ? -1 : 1
}
