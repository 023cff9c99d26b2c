import type { Role } from '../../../shared/role.ts'
import type { TlsBounds, TlsFiles } from '../../../shared/tls/files.ts'
import type { CorsSettings } from '../http/cors.ts'
import type { Deprecation } from './deprecations.ts'
import type { AnswerCost } from '../limits/answer-cost.ts'
import type { WhenUnreachable } from '../limits/offline-limiter.ts'
import type { IetfDraft } from '../limits/headers.ts'
import type { JwtSettings } from '../jwt/settings.ts'
import type { Limits } from '../limits/limits.ts'
import type { Plan } from '../limits/plan.ts'
import type { BanSettings } from '../limits/conduct.ts'
import type { AskingProxy } from './asking.ts'

/** Credentials and encryption of a Cluster's nodes, or of the master that Sentinels name. An empty text means none. */
export type RedisAccess = Readonly<{
  username?: string
  password?: string
  /** Whether connections are encrypted; `ca` is a file of certificates to trust in place of Node's own. */
  tls?: boolean | Readonly<{ ca: string }>
}>

/** The Redis that holds the stores: one server, a Cluster, or a master named by Sentinels. */
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

/** One address of an upstream, and its share of the requests. */
export type TargetSettings = Readonly<{ url: string; weight: number }>

/** Time limits: for a connection, the first byte, the gap between two bytes; and for a caller to send its request. */
export type Timeouts = Readonly<{
  connectMs: number
  responseMs: number
  idleMs: number
  requestMs: number
}>

/** How targets are checked, and when one is left out. Without a path, the check only opens a connection. */
export type HealthSettings = Readonly<{
  path: string | undefined
  everyMs: number
  unhealthyAfter: number
}>

/** A request that `upstream check` sends to a new backend and to the present one. */
export type Probe = Readonly<{ method: string; target: string; status: number | undefined }>

/** The way from the targets of an upstream to others, step by step. */
export type SwapSettings = Readonly<{
  to: readonly TargetSettings[]
  /** The shares of callers who go to the new side, in percent. After the last step all do. */
  steps: readonly number[]
  /** The least time of a step. */
  everyMs: number
  /** The methods that may go to the new side before all callers do. */
  methods: readonly string[] | undefined
  back: BackSettings
}>

/** When a swap goes back by itself. */
export type BackSettings = Readonly<{
  /** By how much the share of failures of the new side may exceed that of the old one: 0.01 is 1 %. */
  errors: number
  /** How many times as long as the old side's its p95 may be. */
  slower: number
  /** The requests to the new side in a step before it is judged, or the next step comes. */
  after: number
  /** The number of callers that failures must have met to count. */
  callers: number
}>

/** Files of the certificates at https targets, and the name that theirs must have in place of the host. */
export type UpstreamTls = TlsFiles & Readonly<{ name?: string | undefined }>

export type UpstreamSettings = Readonly<{
  name: string
  targets: readonly TargetSettings[]
  swap: SwapSettings | undefined
  timeouts: Timeouts
  health: HealthSettings
  /** The most requests in flight at once; more are refused immediately. */
  maxInFlight: number
  /** Whether each caller is held to its share of `maxInFlight` while half of it is taken. */
  isFair: boolean
  /** Whether callers' cookies, and the Host that they have asked, go to its backend. */
  passesCookies: boolean
  passesHost: boolean
  /** Headers for its backend in place of callers' own, such as a credential. No output shows their values. */
  headers: Readonly<Record<string, string>> | undefined
  tls: UpstreamTls | undefined
  probes: readonly Probe[]
}>

export type Route = Readonly<{
  /** An exact path, with `{name}` for any one segment, or with `/*` for everything below. */
  path: string
  /** The name of its upstream; `none` where a proxy forwards what is decided here. */
  upstream: string
  /** The points that a request is admitted with. */
  cost: number
  /** How its answer tells what it has cost; `undefined` where it costs what it was admitted with. */
  answerCost: AnswerCost | undefined
  /** The methods that this route forwards. */
  methods: readonly string[]
  /** The scopes that its requests need, by method; `undefined` where none does. */
  scopes: ReadonlyMap<string, readonly string[]> | undefined
  /** What replaces the fixed part of the path towards the backend, such as `/api/*`; `/` takes it away. */
  rewrite: string | undefined
  bodyLimit: number
  /** Whether its refusals have what SDKs of models read. */
  errors: boolean
}>

/** An address that is told of events. */
export type NoticeSettings = Readonly<{
  to: string
  secrets: readonly string[]
  about: readonly string[]
  /** The ranges of addresses outside the internet that it may have. */
  allow: readonly string[]
}>

/** An address to listen on; by TLS with the files of a certificate and its key, and what it takes. */
export type Address = Readonly<{
  host: string
  port: number
  tls?: (Readonly<{ cert: string; key: string }> & TlsBounds) | undefined
}>

/**
 * The admin address, the host names that it accepts besides `localhost` and IP addresses, and whether operators may
 * read and save the configuration file there.
 */
export type AdminAddress = Address &
  Readonly<{ hosts: readonly string[]; save: boolean; trust?: TrustSettings | undefined }>

/** An authenticating proxy that says who operators are: its addresses, its header in lower case, and their roles by name; `*` is anybody. */
export type TrustSettings = Readonly<{
  from: readonly string[]
  header: string
  roles: ReadonlyMap<string, Role>
}>

/** The address at which a proxy asks whether requests may pass. */
export type DecideSettings = Address &
  Readonly<{
    for: AskingProxy
    /** The text that the proxy sends as `X-Decide-Token`; `undefined` where only this machine can ask. */
    token: string | undefined
  }>

/** The pages for callers. */
export type PortalSettings = Readonly<{
  path: string
  /** The OpenAPI document as JSON. */
  document: string
}>

export type TraceSettings = Readonly<{ to: string; sample: number }>

/** The settings of the paths at which the gateway itself answers callers. */
export type OwnPaths = 'quotaPath' | 'usagePath' | 'tickets' | 'portal'

/** The configuration as the gateway uses it: complete, checked and frozen. */
export type Config = Readonly<{
  /** The short name of its text, by which operators tell two configurations apart. */
  hash: string
  /** The name of this gateway among others; never told to callers. */
  name: string | undefined
  listen: Address
  /** The address for operators only. */
  admin: AdminAddress
  /** The address for proxies that ask; `undefined` without one. */
  decide: DecideSettings | undefined
  store: StoreSettings
  plans: ReadonlyMap<string, Plan>
  strangers: Limits
  bans: BanSettings
  /** The size of the cache, and the headers in which a key may come, in lower case. */
  keys: Readonly<{ cache: number; from: readonly string[] }>
  /** Those whose tokens are taken beside keys. */
  jwt: readonly JwtSettings[]
  upstreams: ReadonlyMap<string, UpstreamSettings>
  /** The path at which callers read their own limits, unless that is off. */
  quotaPath: string | undefined
  /** The path at which callers read their own usage, unless that is off. */
  usagePath: string | undefined
  /** Whether callers get tickets for what can't send a header. */
  tickets: boolean
  portal: PortalSettings | undefined
  /** The draft of the IETF's `RateLimit` fields that are sent beside the `X-RateLimit` ones; `undefined` without them. */
  ietf: IetfDraft | undefined
  /** The gateway's name in `Via`; `undefined` where it names itself nowhere. */
  via: string | undefined
  /** The percentages of a day's limit that count as near its end, rising. */
  nearPercents: readonly number[]
  routes: readonly Route[]
  deprecations: readonly Deprecation[]
  notices: readonly NoticeSettings[]
  trustedProxies: readonly string[]
  cors: CorsSettings
  /** Where spans are sent, and of which share of requests: 0.05 is 5 %; `undefined` if none are made. */
  traces: TraceSettings | undefined
  /** The number of processes that serve at the same port. */
  workers: number
  /** At a stop: how long open connections are still answered before idle ones are closed. */
  drainMs: number
  /** At a stop: how long requests in flight may take to finish. */
  shutdownMs: number
}>
