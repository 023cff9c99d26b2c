import { availableParallelism } from 'node:os'
import type { CorsSettings } from '../cors.ts'
import type { Deprecation } from '../deprecations.ts'
import type { WhenUnreachable } from '../limits/alone.ts'
import type { Limits, Plan } from '../limits/limits.ts'
import { limitFrom } from '../limits/limits.ts'
import type { BanRules } from '../limits/step.ts'
import type { ConfigFile } from './schema.ts'
import { durationFrom, instantFrom, sizeFrom } from './units.ts'

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
  /** A file with the certificates to believe, in place of those that everybody believes. */
  ca: string | undefined
  probes: readonly Probe[]
}>

export type Route = Readonly<{
  /** Exact, with `{name}` for any one segment, or all below, as in `/v1/*`. */
  path: string
  upstream: string
  cost: number
  /** Which methods lead there; without it, all that are known. */
  methods: readonly string[] | undefined
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

/** How texts become amounts. */
export type Units = Readonly<{
  duration: (text: string) => number
  size: (text: string) => number
  instant: (text: string) => number
}>

/** Of a file that has been checked, every text is an amount. */
const usualUnits: Units = {
  duration: (text) => durationFrom(text) ?? 0,
  size: (text) => sizeFrom(text) ?? 0,
  instant: (text) => instantFrom(text) ?? 0,
}

/** Fills in the defaults of a file that has been checked, and turns its texts into values. */
export function configFrom(file: ConfigFile, units = usualUnits): Config {
  const { store = {} } = file
  return {
    listen: file.listen ?? { host: '127.0.0.1', port: 8080 },
    admin: { hosts: [], ...(file.admin ?? { host: '127.0.0.1', port: 8081 }) },
    store: {
      file: store.file ?? 'data/gateway.db',
      redis: redisFrom(store.redis),
      prefix: store.prefix ?? 'tollgate:',
      timeoutMs: units.duration(store.timeout ?? '50ms'),
      whenUnreachable: store.whenUnreachable ?? 'local',
    },
    plans: new Map(Object.entries(file.plans).map(([name, plan]) => [name, planFrom(name, plan)])),
    strangers: limitsFrom(file.strangers ?? { perMinute: 60, perDay: 1_000 }),
    bans: bansFrom(file.bans, units),
    keys: { cache: file.keys?.cache ?? 100_000 },
    upstreams: new Map(
      Object.entries(file.upstreams ?? {}).map(([name, written]) => [
        name,
        upstreamFrom(name, written, units),
      ]),
    ),
    quotaPath: file.quota?.path ?? '/v1/quota',
    ietfHeaders: file.headers?.ietf ?? false,
    routes: file.routes.map((route) => routeFrom(route, units)),
    deprecations: (file.deprecations ?? []).map((each) => deprecationFrom(each, units)),
    trustedProxies: file.trustedProxies ?? [],
    cors: { origins: file.cors?.origins ?? [] },
    workers: file.workers === 'auto' ? availableParallelism() : (file.workers ?? 1),
    drainMs: units.duration(file.drain ?? '3s'),
    shutdownMs: units.duration(file.shutdown ?? '15s'),
  }
}

function planFrom(name: string, plan: ConfigFile['plans'][string]): Plan {
  if (typeof plan === 'string') return { name, limits: plan, bans: true }
  const limits = 'limits' in plan ? plan.limits : limitsFrom(plan)
  return { name, limits, bans: plan.bans !== 'off' }
}

function upstreamFrom(
  name: string,
  written: NonNullable<ConfigFile['upstreams']>[string],
  units: Units,
): UpstreamSettings {
  const { timeout = {}, health = {}, tls, probes = [] } = written
  return {
    name,
    targets: written.targets.map((target) =>
      typeof target === 'string' ? { url: target, weight: 1 } : { weight: 1, ...target },
    ),
    timeouts: {
      connectMs: units.duration(timeout.connect ?? '1s'),
      responseMs: units.duration(timeout.response ?? '10s'),
      idleMs: units.duration(timeout.idle ?? '30s'),
      requestMs: units.duration(timeout.request ?? '30s'),
    },
    health: {
      path: health.path,
      everyMs: units.duration(health.every ?? '2s'),
      unhealthyAfter: health.unhealthyAfter ?? 3,
    },
    maxInFlight: written.maxInFlight ?? 1_000,
    isFair: written.fair !== 'off',
    ca: tls?.ca,
    probes: probes.map(({ request, status }) => {
      const [method = '', target = ''] = request.split(' ')
      return { method, target, status }
    }),
  }
}

function routeFrom(written: ConfigFile['routes'][number], units: Units): Route {
  const { path, upstream, cost = 1, methods, rewrite, bodyLimit = '1MiB' } = written
  return { path, upstream, cost, methods, rewrite, bodyLimit: units.size(bodyLimit) }
}

type WrittenLimits = NonNullable<ConfigFile['strangers']>

function limitsFrom({ perMinute, perDay }: Pick<WrittenLimits, 'perMinute' | 'perDay'>): Limits {
  return { perMinute: limitFrom(perMinute) ?? Infinity, perDay: limitFrom(perDay) ?? Infinity }
}

function deprecationFrom(
  written: NonNullable<ConfigFile['deprecations']>[number],
  units: Units,
): Deprecation {
  const { operation, since, sunset, replacement, docs, afterSunset = 'gone' } = written
  const brownouts = written.brownouts ?? []
  return {
    operation,
    sinceMs: units.instant(since),
    sunsetMs: sunset === undefined ? undefined : units.instant(sunset),
    replacement,
    docs,
    afterSunset,
    brownouts: brownouts.map(({ from, to }) => ({
      fromMs: units.instant(from),
      toMs: units.instant(to),
    })),
  }
}

/** Twenty strikes within a minute are a ban of five minutes, the next ones of up to an hour. */
function bansFrom(bans: ConfigFile['bans'] = {}, units: Units): BanRules {
  return {
    strikes: bans.strikes ?? 20,
    withinMs: units.duration(bans.within ?? '1m'),
    graceMs: units.duration(bans.grace ?? '1s'),
    forMs: units.duration(bans.for ?? '5m'),
    factor: bans.factor ?? 2,
    atMostMs: units.duration(bans.atMost ?? '1h'),
    memoryMs: units.duration(bans.memory ?? '24h'),
  }
}

function redisFrom(redis: NonNullable<ConfigFile['store']>['redis']): RedisSettings | undefined {
  if (redis === undefined || redis === '') return undefined
  return typeof redis === 'string' ? { url: redis } : redis
}
