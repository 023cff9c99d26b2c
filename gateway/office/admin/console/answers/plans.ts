/** Numbers, or `unlimited`. */
export type PlanLimits = Readonly<{ perMinute: number | string; perDay: number | string }>

/** Uses, from the least to the most, each with the number of those that have used at least so much. */
export type Curve = readonly (readonly [use: number, quotas: number])[]

type Distribution = Readonly<{
  quotas: number
  median: number
  p90: number
  p99: number
  highest: number
  near: number
  refused: number
}>

export type DayOfPlan = Readonly<{ on: string; minute: Distribution; day: Distribution }>

export type PlanDemand = Readonly<{
  plan: string
  now: PlanLimits | string
  quotas: number
  byDay: readonly DayOfPlan[]
  curves: Readonly<{ quotas: Readonly<{ minute: Curve; day: Curve }> }>
}>

type QuotaOfPlan = Readonly<{
  quota: string
  key: string
  name: string
  account?: string | null
  days: number
  peakMinute: number
  peakDay: number
}>

export type HitQuota = QuotaOfPlan & Readonly<{ daysHit: readonly string[]; refusedNow: boolean }>

export type RefusedQuota = QuotaOfPlan &
  Readonly<{ daysRefused: readonly string[]; refused: Readonly<{ minute: number; day: number }> }>

/** The effect that other limits of a plan would have had. */
export type Preview = Readonly<{
  bound: 'exact' | 'lower'
  quotas: number
  days: number
  hitQuotas: number
  hitDays: number
  hitNow: number
  hit: readonly HitQuota[]
  refusedQuotas: number
  refused: readonly RefusedQuota[]
  unsaid: readonly string[]
}>

/** The admitted requests that shadow limits would have refused. */
export type ShadowReport = Readonly<{
  shadows: readonly Readonly<{ plan: string; shadow: PlanLimits | string }>[]
  keys: readonly ShadowedKey[]
}>

export type ShadowedKey = Readonly<{
  key: string
  name: string
  account?: string
  plan: string
  refused: Readonly<{ minute: number; day: number }>
  of: number
  first: string
  last: string
}>
