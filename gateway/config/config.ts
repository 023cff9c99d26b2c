import type { Deprecation } from '../deprecations.ts'
import type { Limits, Plan } from '../limits/limits.ts'
import { limitFrom } from '../limits/limits.ts'
import type { BanRules } from '../limits/step.ts'
import type { ConfigFile } from './schema.ts'
import { durationFrom, instantFrom } from './units.ts'

/** Which Redis the stores live in, if they don't live in the file. */
export type RedisSettings =
  | Readonly<{ url: string }>
  | Readonly<{ cluster: readonly string[] }>
  | Readonly<{ sentinels: readonly string[]; name: string }>

export type StoreSettings = Readonly<{
  file: string
  redis: RedisSettings | undefined
  prefix: string
  timeoutMs: number
  whenUnreachable: 'local' | 'allow' | 'deny'
}>

export type Address = Readonly<{ host: string; port: number }>

/** The configuration as the gateway uses it: complete, checked, and never changed. */
export type Config = Readonly<{
  listen: Address
  store: StoreSettings
  plans: ReadonlyMap<string, Plan>
  strangers: Limits
  bans: BanRules
  keys: Readonly<{ cache: number }>
  upstreams: ReadonlyMap<string, Readonly<{ targets: readonly string[] }>>
  /** Where callers ask how they stand. */
  quotaPath: string
  /** Whether the IETF's fields are sent beside the X-RateLimit ones. */
  ietfHeaders: boolean
  routes: readonly Readonly<{ path: string; upstream: string; cost: number }>[]
  deprecations: readonly Deprecation[]
  trustedProxies: readonly string[]
}>

/** Fills in the defaults of a file that has been checked, and turns its texts into values. */
export function configFrom(file: ConfigFile): Config {
  const { store = {} } = file
  return {
    listen: file.listen ?? { host: '127.0.0.1', port: 8080 },
    store: {
      file: store.file ?? 'data/gateway.db',
      redis: redisFrom(store.redis),
      prefix: store.prefix ?? 'tollgate:',
      timeoutMs: durationFrom(store.timeout ?? '50ms') ?? 50,
      whenUnreachable: store.whenUnreachable ?? 'local',
    },
    plans: new Map(Object.entries(file.plans).map(([name, plan]) => [name, planFrom(name, plan)])),
    strangers: limitsFrom(file.strangers ?? { perMinute: 60, perDay: 1_000 }),
    bans: bansFrom(file.bans),
    keys: { cache: file.keys?.cache ?? 100_000 },
    upstreams: new Map(Object.entries(file.upstreams)),
    quotaPath: file.quota?.path ?? '/v1/quota',
    ietfHeaders: file.headers?.ietf ?? false,
    routes: file.routes.map((route) => ({ cost: 1, ...route })),
    deprecations: (file.deprecations ?? []).map(deprecationFrom),
    trustedProxies: file.trustedProxies ?? [],
  }
}

function planFrom(name: string, plan: ConfigFile['plans'][string]): Plan {
  if (plan === 'custom') return { name, limits: plan, bans: true }
  const limits = 'limits' in plan ? plan.limits : limitsFrom(plan)
  return { name, limits, bans: plan.bans !== 'off' }
}

type WrittenLimits = NonNullable<ConfigFile['strangers']>

function limitsFrom({ perMinute, perDay }: Pick<WrittenLimits, 'perMinute' | 'perDay'>): Limits {
  return { perMinute: limitFrom(perMinute) ?? Infinity, perDay: limitFrom(perDay) ?? Infinity }
}

function deprecationFrom(written: NonNullable<ConfigFile['deprecations']>[number]): Deprecation {
  const { operation, since, sunset, replacement, docs, afterSunset = 'gone' } = written
  const brownouts = written.brownouts ?? []
  return {
    operation,
    sinceMs: instantFrom(since) ?? 0,
    sunsetMs: sunset === undefined ? undefined : instantFrom(sunset),
    replacement,
    docs,
    afterSunset,
    brownouts: brownouts.map(({ from, to }) => ({
      fromMs: instantFrom(from) ?? 0,
      toMs: instantFrom(to) ?? 0,
    })),
  }
}

/** Twenty strikes within a minute are a ban of five minutes, the next ones of up to an hour. */
function bansFrom(bans: ConfigFile['bans'] = {}): BanRules {
  return {
    strikes: bans.strikes ?? 20,
    withinMs: durationFrom(bans.within ?? '1m') ?? 0,
    graceMs: durationFrom(bans.grace ?? '1s') ?? 0,
    forMs: durationFrom(bans.for ?? '5m') ?? 0,
    factor: bans.factor ?? 2,
    atMostMs: durationFrom(bans.atMost ?? '1h') ?? 0,
    memoryMs: durationFrom(bans.memory ?? '24h') ?? 0,
  }
}

function redisFrom(redis: NonNullable<ConfigFile['store']>['redis']): RedisSettings | undefined {
  if (redis === undefined || redis === '') return undefined
  return typeof redis === 'string' ? { url: redis } : redis
}
