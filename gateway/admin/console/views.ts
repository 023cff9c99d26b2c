/** The answers of the admin API, as `admin.yaml` describes them. Only members that pages show. */

export type Key = Readonly<{
  id: string
  name: string
  plan: string
  state: 'active' | 'disabled' | 'expired' | 'revoked'
  account?: string
  limits?: Readonly<{ perMinute?: number | string; perDay?: number | string }>
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

export type KeyPage = Readonly<{ keys: readonly Key[]; next: string | null }>

type Window = Readonly<{ limit: number; remaining: number; reset: number; used: number }>

export type KeyDetails = Key &
  Readonly<{
    standing: Readonly<{
      quota: string
      offered: boolean
      minute: Window | null
      day: Window | null
      strikes: number
      bannedUntil: number | null
    }>
  }>

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
}>

export type ConfigInForce = Readonly<{
  file: string
  hash: string
  loadedAt: string
  mistakes: readonly string[]
  warnings: readonly string[]
  config: Readonly<Record<string, unknown>>
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

export type Upstreams = Readonly<
  Record<
    string,
    Readonly<
      Record<string, Readonly<{ healthy: boolean; weight: number; refusesSignature?: true }>>
    >
  >
>

export type Ban = Readonly<{ id: string; name: string; until: string }>

export type Ready = Readonly<{
  ready: boolean
  stopping: boolean
  store: 'reachable' | 'out of reach'
  config: Readonly<{ hash: string; mistakes?: number }>
}>
