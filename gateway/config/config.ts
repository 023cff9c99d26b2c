import type { Limits, Plan } from '../limits/limits.ts'
import { limitFrom } from '../limits/limits.ts'
import type { ConfigFile } from './schema.ts'
import { durationFrom } from './units.ts'

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
  admin: Address
  store: StoreSettings
  plans: ReadonlyMap<string, Plan>
  strangers: Limits
  keys: Readonly<{ cache: number }>
  upstreams: ReadonlyMap<string, Readonly<{ targets: readonly string[] }>>
  routes: readonly Readonly<{ path: string; upstream: string }>[]
  trustedProxies: readonly string[]
}>

/** Fills in the defaults of a file that has been checked, and turns its texts into values. */
export function configFrom(file: ConfigFile): Config {
  const { store = {} } = file
  return {
    listen: file.listen ?? { host: '127.0.0.1', port: 8080 },
    admin: file.admin ?? { host: '127.0.0.1', port: 8081 },
    store: {
      file: store.file ?? 'data/gateway.db',
      redis: redisFrom(store.redis),
      prefix: store.prefix ?? 'tollgate:',
      timeoutMs: durationFrom(store.timeout ?? '50ms') ?? 50,
      whenUnreachable: store.whenUnreachable ?? 'local',
    },
    plans: new Map(Object.entries(file.plans).map(([name, plan]) => [name, planFrom(name, plan)])),
    strangers: limitsFrom(file.strangers ?? { perMinute: 60, perDay: 1_000 }),
    keys: { cache: file.keys?.cache ?? 100_000 },
    upstreams: new Map(Object.entries(file.upstreams)),
    routes: file.routes,
    trustedProxies: file.trustedProxies ?? [],
  }
}

function planFrom(name: string, plan: ConfigFile['plans'][string]): Plan {
  return { name, limits: plan === 'custom' ? plan : limitsFrom(plan) }
}

type WrittenLimits = NonNullable<ConfigFile['strangers']>

function limitsFrom({ perMinute, perDay }: WrittenLimits): Limits {
  return { perMinute: limitFrom(perMinute) ?? Infinity, perDay: limitFrom(perDay) ?? Infinity }
}

function redisFrom(redis: NonNullable<ConfigFile['store']>['redis']): RedisSettings | undefined {
  if (redis === undefined || redis === '') return undefined
  return typeof redis === 'string' ? { url: redis } : redis
}
