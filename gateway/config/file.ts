// Written by `npm run schema` from schema.ts and descriptions.ts.

export interface ConfigFile {
  /** Where callers reach the gateway. */
  readonly listen?: ListenSettings
  /** Where operators reach the gateway: health, metrics, and with ADMIN_TOKEN the rest. */
  readonly admin?: AdminSettings
  /** Where keys, counters and bans are kept. */
  readonly store?: StoreSettings
  /** The plans that keys have, by name. */
  readonly plans: Readonly<Record<string, PlanSettings | 'custom' | CustomPlan>>
  /** How many requests without a valid key an address may send (IPv6: a /64). */
  readonly strangers?: StrangerLimits
  /** When a key that goes on after refusals is banned, and for how long. */
  readonly bans?: BanSettings
  /** How each gateway keeps keys. */
  readonly keys?: KeySettings
  /** What the gateway itself answers to callers. */
  readonly quota?: QuotaSettings
  /** What is sent beside the X-RateLimit headers. */
  readonly headers?: HeaderSettings
  /** What stands behind the gateway, by name. */
  readonly upstreams?: Readonly<Record<string, UpstreamSettings>>
  /** Which paths lead where. */
  readonly routes: readonly RouteSettings[]
  /** Operations that callers should leave. */
  readonly deprecations?: readonly DeprecationSettings[]
  /** Which pages may ask from browsers. */
  readonly cors?: CorsSettings
  /** How many processes serve at the same port; auto for one each processor core. More than one needs Redis. Write a whole number from 1 to 256, or auto. */
  readonly workers?: number | 'auto'
  /** How long connections that are open at a stop go on being answered. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly drain?: string
  /** How long requests in flight may take at a stop, in all. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly shutdown?: string
  /** Proxies in front of the gateway, whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[]
}

/** Which pages may ask from browsers. */
export interface CorsSettings {
  /** The origins of these pages; '*' for all. */
  readonly origins?: readonly string[]
}

export interface DeprecationSettings {
  /** Which one; HEAD goes with GET. Write a method and a path, such as GET /v1/pets/{petId}. */
  readonly operation: string
  /** When it became deprecated. Write a day such as 2030-12-05, or a time with its zone. */
  readonly since: string
  /** When it is removed. Write a day such as 2030-12-05, or a time with its zone. */
  readonly sunset?: string
  /** Where callers should go instead. Write a path or a URL without spaces. */
  readonly replacement?: string
  /** Where it is explained. Write a path or a URL without spaces. */
  readonly docs?: string
  /** What becomes of it from its sunset on: 410 (gone), or it goes on (serve). Write gone or serve. */
  readonly afterSunset?: 'gone' | 'serve'
  /** Rehearsals of its removal: 503 while they last. */
  readonly brownouts?: readonly BrownoutSettings[]
}

export interface BrownoutSettings {
  /** When it begins. Write a day such as 2030-12-05, or a time with its zone. */
  readonly from: string
  /** When it ends. Write a day such as 2030-12-05, or a time with its zone. */
  readonly to: string
}

export interface RouteSettings {
  /** What callers ask for: exact, with {name} for any one segment, or with /* for all below. Write a path such as /v1/pets, /v1/pets/{petId} or /v1/*. */
  readonly path: string
  /** The name of the upstream that it leads to. */
  readonly upstream: string
  /** How many points a request costs; 0 is free. Write a whole number from 0 up. */
  readonly cost?: number
  /** The methods that it forwards; without it, those that other entries of the path leave of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS. */
  readonly methods?: readonly string[]
  /** What stands in the place of the path's fixed part towards the backend. Write a path that ends in /*, such as /api/*. */
  readonly rewrite?: string
  /** The most that a body may have. Write a size such as 64KiB or 1MiB. */
  readonly bodyLimit?: string
}

/** One or more targets that share the requests of the routes that name them. */
export interface UpstreamSettings {
  /** Where requests go, by turns. */
  readonly targets: readonly (string | WeightedTarget)[]
  /** How long things may take. */
  readonly timeout?: UpstreamTimeouts
  /** When a target is left out, and how it is looked at. */
  readonly health?: HealthSettings
  /** How many requests may be on their way at once; more are 503. Write a whole number above 0. */
  readonly maxInFlight?: number
  /** Whether no key gets more than its share of them while half of them are taken. Write on or off. */
  readonly fair?: 'on' | 'off'
  /** How https targets are believed. */
  readonly tls?: UpstreamTls
  /** What `tollgate upstream check` asks of a would-be backend. */
  readonly probes?: readonly ProbeSettings[]
}

export interface ProbeSettings {
  /** The method and path that is asked. Write GET and a path, such as GET /v1/pets?limit=1. */
  readonly request: string
  /** The status that is expected; without it, that of the present backend. Write a status of HTTP. */
  readonly status?: number
}

/** How https targets are believed. */
export interface UpstreamTls {
  /** A file with the certificates to believe, in place of those that everybody believes. It is read anew with the configuration. */
  readonly ca: string
}

/** When a target is left out, and how it is looked at. */
export interface HealthSettings {
  /** What is asked for to see whether a target is well; without it, whether it can be connected to. Write a path such as /healthz. */
  readonly path?: string
  /** How often it is asked. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly every?: string
  /** How many checks, or requests, in a row must fail for a target to be left out. Write a whole number above 0. */
  readonly unhealthyAfter?: number
}

/** How long things may take. */
export interface UpstreamTimeouts {
  /** For a connection. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly connect?: string
  /** Until the first byte of an answer. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly response?: string
  /** Between two bytes of an answer. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly idle?: string
  /** For a caller to send its whole request. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly request?: string
}

/** A target, or a target with its weight. */
export interface WeightedTarget {
  /** Where the target is. Write an http or https URL without a path. */
  readonly url: string
  /** How many turns it takes for one of a target with weight 1. Write from 1 to 1000. */
  readonly weight?: number
}

/** What is sent beside the X-RateLimit headers. */
export interface HeaderSettings {
  /** Whether RateLimit and RateLimit-Policy (draft 11) are sent. Write true or false. */
  readonly ietf?: boolean
}

/** What the gateway itself answers to callers. */
export interface QuotaSettings {
  /** Where callers ask how they stand; it costs nothing. Write a path such as /v1/quota. */
  readonly path?: string
}

/** How each gateway keeps keys. */
export interface KeySettings {
  /** How many keys each gateway keeps in its memory, so that it need not ask the store. Write a whole number above 0. */
  readonly cache?: number
}

/** When a key that goes on after refusals is banned, and for how long. */
export interface BanSettings {
  /** How many strikes ban a key. Write from 1 to 1000. */
  readonly strikes?: number
  /** The time that these strikes must come within. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly within?: string
  /** A refusal is a strike if it comes later than this after the first one of an episode. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly grace?: string
  /** How long a first ban lasts. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly for?: string
  /** How many times as long as the one before a further ban lasts. Write a number from 1 up. */
  readonly factor?: number
  /** The longest that a ban lasts. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly atMost?: string
  /** How long after a ban another one counts as a further one. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly memory?: string
}

/** How many requests without a valid key an address may send (IPv6: a /64). */
export interface StrangerLimits {
  /** Requests without a valid key, per address and minute. Write a whole number above 0 or "unlimited". */
  readonly perMinute?: number | 'unlimited'
  /** Requests without a valid key, per address and day. Write a whole number above 0 or "unlimited". */
  readonly perDay?: number | 'unlimited'
}

/** What a key of this plan may do. Of a custom plan, each key brings its own limits. */
export interface CustomPlan {
  /** Each key brings its own limits. */
  readonly limits: 'custom'
  /** Whether keys of this plan are banned for going on after refusals. Write on or off. */
  readonly bans?: 'on' | 'off'
}

/** What a key of this plan may do. Of a custom plan, each key brings its own limits. */
export interface PlanSettings {
  /** Points that a key may use up in a minute; minutes begin at second 0. Write a whole number above 0 or "unlimited". */
  readonly perMinute: number | 'unlimited'
  /** Points that a key may use up in a day; days begin at midnight, UTC. Write a whole number above 0 or "unlimited". */
  readonly perDay: number | 'unlimited'
  /** Whether keys of this plan are banned for going on after refusals. Write on or off. */
  readonly bans?: 'on' | 'off'
}

/** Where keys, counters and bans are kept. */
export interface StoreSettings {
  /** The SQLite file of a gateway by itself. A relative path starts at the working directory. */
  readonly file?: string
  /** The Redis that several gateways share; empty for the file. Write a redis:// or rediss:// URL, { cluster: [...] } or { sentinels: [...], name: ... }. */
  readonly redis?: string | RedisCluster | RedisSentinels
  /** What every name in Redis starts with. */
  readonly prefix?: string
  /** How long a request may wait for Redis. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly timeout?: string
  /** What decides while Redis is out of reach: each gateway for its share (local), nobody (allow), or nobody is let in (deny). Write local, allow or deny. */
  readonly whenUnreachable?: 'local' | 'allow' | 'deny'
}

/** The Redis that several gateways share; empty for the file. */
export interface RedisSentinels {
  /** Sentinels that know which Redis is the master. */
  readonly sentinels: readonly string[]
  /** What Sentinels call the master. */
  readonly name: string
  /** The user of Redis; empty for none. */
  readonly username?: string
  /** The password of Redis; empty for none. */
  readonly password?: string
  /** Whether connections to Redis are encrypted. Write true, or { ca: FILE } with the certificates to believe. */
  readonly tls?: boolean | RedisTls
  /** The user of the Sentinels; empty for none. */
  readonly sentinelUsername?: string
  /** The password of the Sentinels; empty for none. */
  readonly sentinelPassword?: string
}

/** The Redis that several gateways share; empty for the file. */
export interface RedisCluster {
  /** Some nodes of a Redis Cluster; the others are found by them. */
  readonly cluster: readonly string[]
  /** The user of Redis; empty for none. */
  readonly username?: string
  /** The password of Redis; empty for none. */
  readonly password?: string
  /** Whether connections to Redis are encrypted. Write true, or { ca: FILE } with the certificates to believe. */
  readonly tls?: boolean | RedisTls
}

/** Whether connections to Redis are encrypted. */
export interface RedisTls {
  /** A file with the certificates to believe, in place of those that everybody believes. */
  readonly ca: string
}

/** Where operators reach the gateway: health, metrics, and with ADMIN_TOKEN the rest. */
export interface AdminSettings {
  /** The address to listen on for operators. Beyond this machine it needs ADMIN_TOKEN. */
  readonly host?: string
  /** The port for operators; 0 is any that is free. Write a port from 0 to 65535. */
  readonly port?: number
  /** Names that operators may ask the admin address by, beside localhost and addresses, while only this machine reaches it. */
  readonly hosts?: readonly string[]
}

/** Where callers reach the gateway. */
export interface ListenSettings {
  /** The address to listen on for callers; 0.0.0.0 is every one that this machine has. */
  readonly host?: string
  /** The port for callers; 0 is any that is free. Write a port from 0 to 65535. */
  readonly port?: number
}
