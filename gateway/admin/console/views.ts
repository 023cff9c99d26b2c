/** The answers of the admin API, as `admin.yaml` describes them. Only members that pages show. */

type Limits = Readonly<{ perMinute?: number | string; perDay?: number | string }>

export type Key = Readonly<{
  id: string
  name: string
  plan: string
  state: 'active' | 'disabled' | 'expired' | 'revoked'
  account?: string
  /** Whether it may have refusals acted. */
  test?: true
  /** The end of a plan that is for a time. */
  until?: string
  limits?: Limits & Readonly<{ until?: string }>
  /** The plan and limits after the end of temporary ones. */
  afterwards?: Readonly<{ plan: string; limits: Limits | null }>
  createdAt: string
  expiresAt?: string
  revokedAt?: string
  bannedUntil?: string
  note?: string
  methods?: readonly string[]
  paths?: readonly string[]
  addresses?: readonly string[]
  lastUsedAt: string | null
  oldToken?: Readonly<{ until: string; lastUsedAt: string | null }>
}>

type Window = Readonly<{ limit: number; remaining: number; reset: number; used: number }>

export type Standing = Readonly<{
  quota: string
  offered: boolean
  minute: Window | null
  day: Window | null
  strikes: number
  bannedUntil: number | null
  grants: readonly Readonly<{
    perDay: number | null
    perMinute: number | null
    by: string
    note: string | null
  }>[]
}>

export type KeyDetails = Key & Readonly<{ standing: Standing }>

export type KeyOnPage = KeyDetails & Readonly<{ refusedToday: number }>

/** A page of `GET /admin/keys?standing`. */
export type KeyPage = Readonly<{ keys: readonly KeyOnPage[]; next: string | null }>

export type TimelineLine = Readonly<{
  at: string
  what: string
  code?: string
  reason?: string
  count?: number
  limit?: number | null
  used?: number | null
  by?: string
  before?: unknown
  after?: unknown
}>

export type Timeline = Readonly<{ sentence: string; lines: readonly TimelineLine[] }>

type RefusedWindow = Readonly<{ limit: number; used: number | null; reset: number }>

export type RefusedRequest = Readonly<{
  id: string
  time: string
  gateway: string
  key: string | null
  name: string | null
  plan: string | null
  account: string | null
  route: string
  method: string
  path: string
  status: number
  code: string | null
  reason: string
  minute: RefusedWindow | null
  day: RefusedWindow | null
  strikes: number
  bannedUntil: string | null
  decidedBy: string | null
  config: string
  upstream: string | null
  target: string | null
  ownMs: number
  upstreamMs: number | null
  sentence: string
}>

export type RefusedRequests = Readonly<{
  answers: readonly RefusedRequest[]
  gateways: Readonly<{ asked: number; answered: number }>
}>

export type Usage = Readonly<{
  day?: string
  admitted: number
  points: number
  refused: Readonly<Record<string, number>>
  windows: Readonly<{ minute: number; day: number }>
}>

export type Change = Readonly<{
  at: string
  by: string
  what: string
  subject: string
  before: unknown
  after: unknown
}>

export type DeprecatedCalls = Readonly<{
  key: string
  name: string
  operation: string
  calls: number
  last: string
  sunset: string | null
  extension: Readonly<{ until: string; spare: boolean }> | null
  needsExtension: boolean
}>

export type CallsOfDay = Readonly<{ operation: string; day: string; calls: number; keys: number }>

export type ConfigInForce = Readonly<{
  file: string
  hash: string
  loadedAt: string
  mistakes: readonly string[]
  warnings: readonly string[]
  /** Why the file can't be saved here. */
  unsavable: string | null
  config: Readonly<Record<string, unknown>>
}>

export type ConfigText = Readonly<{ file: string; text: string; hash: string }>

export type ConfigCheck = Readonly<{
  sound: boolean
  mistakes: readonly string[]
  warnings: readonly string[]
  differences: readonly Readonly<{
    place: string
    before: unknown
    after: unknown
    needsRestart?: true
  }>[]
  keys?: Readonly<Record<string, number>>
  refused?: Readonly<Record<string, number>>
}>

export type Fleet = Readonly<{
  summary: string
  differSinceAt: string | null
  gateways: readonly Readonly<{
    name: string
    id: string
    version: string
    startedAt: string
    lastSeenAt: string
    address: string | null
    store: string
    config: Readonly<{ hash: string; sinceAt: string; refuses: string | null }> | null
  }>[]
}>

export type Target = Readonly<{
  healthy: boolean
  weight: number
  signed: boolean
  refusesSignature?: true
  since: string
  underWay: number
  answers: Readonly<Record<string, number>>
  p50Ms: number | null
  p95Ms: number | null
  lastFailure: Readonly<{ at: string; cause: string }> | null
}>

export type Upstreams = Readonly<Record<string, Readonly<Record<string, Target>>>>

/** One side of a swap in its present step. */
export type SwapSide = Readonly<{
  requests: number
  failures: number
  p50Ms: number | null
  p95Ms: number | null
}>

/** A swap of backends; `steps` ends with 100 for all callers. */
export type Swap = Readonly<{
  upstream: string
  from: readonly string[]
  to: readonly string[]
  state: 'waiting' | 'checking' | 'refused' | 'moving' | 'paused' | 'all' | 'back'
  step: number | null
  steps: readonly number[]
  old: SwapSide
  new: SwapSide
  summary: string
}>

type FirstByteTimes = Readonly<{ p50: number; p95: number }>

/** One route in the comparison of a would-be backend. */
export type ComparedRoute = Readonly<{
  route: string
  compared: number
  same: number
  breaks: readonly Readonly<{
    what: string
    times: number
    examples: readonly Readonly<{ request: string; mirrored: string }>[]
  }>[]
  presentMs: FirstByteTimes | null
  wouldBeMs: FirstByteTimes | null
}>

/** The comparison of a would-be backend; `ended` is `null` while it runs. */
export type Comparison = Readonly<{
  url: string
  share: number
  forSeconds: number
  seconds: number
  ended: string | null
  fit: boolean
  summary: string
  gateways: readonly string[]
  fleet: number
  requests: Readonly<{ compared: number; same: number; busy: number; unfit: number }>
  routes: readonly ComparedRoute[]
}>

export type Ban = Readonly<{ id: string; name: string; until: string }>

type Latency = Readonly<{ count: number; mean: number; p50: number; p99: number }>

/** Requests by outcome: each is counted once. */
export type Sums = Readonly<{
  requests: number
  admitted: number
  minute: number
  day: number
  ban: number
  strangers: number
  refused: number
  failed: number
  others: number
  /** Of those admitted. */
  backendFailed: number
  own: Latency | null
  upstream: Latency | null
}>

/** The sums of a second or minute; `at` is its beginning, in Unix seconds. */
export type LiveRow = Sums & Readonly<{ at: number }>

export type LiveRefusal = Readonly<{
  id: string
  time: string
  gateway: string
  key: string | null
  name: string | null
  plan: string | null
  route: string
  status: number
  code: string | null
  reason: string
  window: 'minute' | 'day' | null
}>

export type RefusedKey = Readonly<{
  key: string
  name: string
  plan: string
  window: 'minute' | 'day' | 'ban' | null
  /** In the last minute. */
  count: number
}>

/** An answer of `GET /admin/live`. */
export type Picture = Readonly<{
  time: string
  gateways: Readonly<{ asked: number; told: number; names: readonly string[] }>
  lastMinute: Sums
  store: Readonly<{ reachable: boolean; without: readonly string[] }>
  configs: readonly Readonly<{
    hash: string
    gateways: readonly string[]
    refusals: readonly Readonly<{ gateway: string; mistake: string }>[]
  }>[]
  targets: readonly Readonly<{
    upstream: string
    target: string
    healthy: boolean
    unhealthyAt: readonly string[]
  }>[]
  refusedKeys: readonly RefusedKey[]
  refusals: readonly LiveRefusal[]
  refusalsLeftOut: number
  range: Readonly<{
    name: '15m' | 'day'
    step: number
    sums: Sums
    rows: readonly LiveRow[]
  }> | null
}>

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

/** A change of the configuration's file. */
export type Edited = Readonly<{
  file: string
  /** Of the text that was changed. */
  hash: string
  /** Only where the file may be saved. */
  text?: string
  diff: string
  mistakes: readonly string[]
  warnings: readonly string[]
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
