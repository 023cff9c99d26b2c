import type { CorsSettings } from '../http/cors.ts'
import type { Deprecation } from './deprecations.ts'
import type { WhenUnreachable } from '../limits/alone.ts'
import type { Limits, Plan } from '../limits/limits.ts'
import type { BanRules } from '../limits/step.ts'

/** How to prove oneself to the servers of a Cluster, or to those that Sentinels name; empty texts are none. */
export type RedisAccess = Readonly<{
  username?: string
  password?: string
  /** Whether connections are encrypted, and with whose certificates if not with those that everybody believes. */
  tls?: boolean | Readonly<{ ca: string }>
}>

/** Which Redis the stores live in, if they don't live in the file. */
export type RedisSettings =
  | Readonly<{ url: string }>
  | (RedisAccess & Readonly<{ cluster: readonly string[] }>)
  | (RedisAccess &
      Readonly<{
        sentinels: readonly string[]
        name: string
        sentinelUsername?: string
        sentinelPassword?: string
      }>)

export type StoreSettings = Readonly<{
  file: string
  redis: RedisSettings | undefined
  prefix: string
  timeoutMs: number
  whenUnreachable: WhenUnreachable
}>

/** One place that serves an upstream's requests, and its share of them. */
export type TargetSettings = Readonly<{ url: string; weight: number }>

/** How long an upstream may take: for a connection, its first byte, between two bytes; and how long a caller may send. */
export type Timeouts = Readonly<{
  connectMs: number
  responseMs: number
  idleMs: number
  requestMs: number
}>

/** When a target is taken out, and how it is looked at; without a path, by whether it can be connected to. */
export type HealthSettings = Readonly<{
  path: string | undefined
  everyMs: number
  unhealthyAfter: number
}>

/** A request that a backend must be able to answer before it is put behind the gateway. */
export type Probe = Readonly<{ method: string; target: string; status: number | undefined }>

export type UpstreamSettings = Readonly<{
  name: string
  targets: readonly TargetSettings[]
  timeouts: Timeouts
  health: HealthSettings
  /** Requests that may be on their way at once; what is over it is refused at once. */
  maxInFlight: number
  /** Whether no caller gets more than its share of that while it is half taken. */
  isFair: boolean
  /** The certificates to believe, in place of those that everybody believes. */
  ca: string | undefined
  probes: readonly Probe[]
}>

export type Route = Readonly<{
  /** Exact, with `{name}` for any one segment, or all below, as in `/v1/*`. */
  path: string
  upstream: string
  cost: number
  /** Which methods lead there. */
  methods: readonly string[]
  /** What stands in the place of a path's fixed part towards the backend. */
  rewrite: string | undefined
  bodyLimit: number
}>

export type Address = Readonly<{ host: string; port: number }>

/** Where operators reach the gateway, and which names they may call it by besides `localhost` and addresses. */
export type AdminAddress = Address & Readonly<{ hosts: readonly string[] }>

/** The configuration as the gateway uses it: complete, checked, and never changed. */
export type Config = Readonly<{
  listen: Address
  /** Where operators reach it, and nobody else. */
  admin: AdminAddress
  store: StoreSettings
  plans: ReadonlyMap<string, Plan>
  strangers: Limits
  bans: BanRules
  keys: Readonly<{ cache: number }>
  upstreams: ReadonlyMap<string, UpstreamSettings>
  /** Where callers ask how they stand. */
  quotaPath: string
  /** Whether the IETF's fields are sent beside the X-RateLimit ones. */
  ietfHeaders: boolean
  routes: readonly Route[]
  deprecations: readonly Deprecation[]
  trustedProxies: readonly string[]
  cors: CorsSettings
  /** How many processes serve at the same port. */
  workers: number
  /** How long connections that are open at a stop go on being answered before idle ones are cut. */
  drainMs: number
  /** How long requests in flight may take to finish at a stop. */
  shutdownMs: number
}>
