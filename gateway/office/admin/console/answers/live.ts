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
