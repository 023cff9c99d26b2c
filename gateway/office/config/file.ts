// Written by `npm run schema` from schema.ts and descriptions.ts.

export interface ConfigFile {
  /** The name of this gateway among others, for operators; without it: its host and process id. Callers never see it. Write a name of 1 to 64 letters, digits, ".", "_", ":" or "-". */
  readonly name?: string
  /** The address for callers. */
  readonly listen?: ListenSettings
  /** The address for operators: health and metrics, and with ADMIN_TOKEN the admin API. */
  readonly admin?: AdminSettings
  /** The store of keys, counters and bans. */
  readonly store?: StoreSettings
  /** The plans of keys, by name. */
  readonly plans: Readonly<Record<string, PlanSettings | 'custom' | CustomPlan>>
  /** The limits of an address (IPv6: a /64) for requests without a valid key. */
  readonly strangers?: StrangerLimits
  /** When a key that goes on after refusals is banned, and for how long. */
  readonly bans?: BanSettings
  /** The cache of keys in each gateway. */
  readonly keys?: KeySettings
  /** The endpoint of the gateway itself for callers. */
  readonly quota?: QuotaSettings
  /** The endpoint of the gateway itself for callers that look back, and how finely their use is counted. */
  readonly usage?: UsageSettings
  /** The pages for callers: the reference of the API, and how they stand. Without it: none. */
  readonly portal?: PortalSettings
  /** Headers to send besides X-RateLimit. */
  readonly headers?: HeaderSettings
  /** The backends behind the gateway, by name. */
  readonly upstreams?: Readonly<Record<string, UpstreamSettings>>
  /** The paths that the gateway forwards, and their upstreams. */
  readonly routes: readonly RouteSettings[]
  /** Operations that callers should stop using. */
  readonly deprecations?: readonly DeprecationSettings[]
  /** Where events are told, by signed webhooks. */
  readonly notices?: readonly NoticeSettings[]
  /** Which web pages may call from browsers. */
  readonly cors?: CorsSettings
  /** Spans of requests, for OpenTelemetry. */
  readonly traces?: TraceSettings
  /** The number of processes that serve at the same port; auto is one for each processor core. More than one needs Redis. Write a whole number from 1 to 256, or auto. */
  readonly workers?: number | 'auto'
  /** At a stop: how long open connections are still answered. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly drain?: string
  /** At a stop: the time for requests in flight to finish, in all. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly shutdown?: string
  /** Proxies in front of the gateway; X-Forwarded-For is trusted only from them. */
  readonly trustedProxies?: readonly string[]
}

/** Spans of requests, for OpenTelemetry. */
export interface TraceSettings {
  /** The collector that spans are sent to, as OTLP over HTTP in JSON; if empty, none are made. Write an http or https URL without /v1/traces, such as http://127.0.0.1:4318. */
  readonly to?: string
  /** The share of requests without a traceparent that get spans; 0 makes none at all, whatever callers send. Write a share such as 5% or 0.5%, up to 100%, or 0. */
  readonly sample?: string | 0
}

/** Which web pages may call from browsers. */
export interface CorsSettings {
  /** The origins of these pages; '*' for all. */
  readonly origins?: readonly string[]
}

export interface NoticeSettings {
  /** The URL that gets them; http for this machine only. Write an https URL. */
  readonly to: string
  /** The key that signs them; two with a comma between them while it is changed. whsec_ marks one in base64. */
  readonly secret: string
  /** The events to tell; without it, all. */
  readonly about?: readonly (
    | '*'
    | 'key.*'
    | 'upstream.*'
    | 'config.*'
    | 'gateways.*'
    | 'store.*'
    | 'operation.*'
    | 'key.near_limit'
    | 'key.limit_reached'
    | 'key.banned'
    | 'key.ban_lifted'
    | 'key.created'
    | 'key.changed'
    | 'key.rotated'
    | 'key.revoked'
    | 'key.expiring'
    | 'upstream.target_out'
    | 'upstream.target_back'
    | 'upstream.swap_back'
    | 'upstream.swapped'
    | 'config.changed'
    | 'config.refused'
    | 'gateways.differ'
    | 'store.out_of_reach'
    | 'store.back'
    | 'store.emptied'
    | 'operation.sunset_near'
  )[]
  /** The addresses outside the internet that the URL may lead to. This machine by its own name is always allowed. */
  readonly allow?: readonly string[]
}

export interface DeprecationSettings {
  /** The method and path of the operation; HEAD goes with GET. Write a method and a path, such as GET /v1/pets/{petId}. */
  readonly operation: string
  /** When it became deprecated. Write a day such as 2030-12-05, or a time with its zone. */
  readonly since: string
  /** When it is removed. Write a day such as 2030-12-05, or a time with its zone. */
  readonly sunset?: string
  /** Where callers should go instead. Write a path or a URL without spaces. */
  readonly replacement?: string
  /** Where the change is explained. Write a path or a URL without spaces. */
  readonly docs?: string
  /** From the sunset on: refuse with 410 (gone), or keep forwarding (serve). Write gone or serve. */
  readonly afterSunset?: 'gone' | 'serve'
  /** Rehearsals of the removal: the operation is 503 while they last. */
  readonly brownouts?: readonly BrownoutSettings[]
  /** A later sunset for single keys and accounts. A key has its own, else that of its account. */
  readonly extensions?: readonly (KeyExtension | AccountExtension)[]
}

export interface AccountExtension {
  /** The account, in place of a key. */
  readonly account: string
  /** The sunset for its requests. Write a day such as 2030-12-05, or a time with its zone. */
  readonly until: string
  /** Whether brownouts spare it. Write true or false. */
  readonly spare?: boolean
}

export interface KeyExtension {
  /** The id of the key. */
  readonly key: string
  /** The sunset for its requests. Write a day such as 2030-12-05, or a time with its zone. */
  readonly until: string
  /** Whether brownouts spare it. Write true or false. */
  readonly spare?: boolean
}

export interface BrownoutSettings {
  /** When it begins. Write a day such as 2030-12-05, or a time with its zone. */
  readonly from: string
  /** When it ends. Write a day such as 2030-12-05, or a time with its zone. */
  readonly to: string
}

export interface RouteSettings {
  /** The path of a request: exact, with {name} for any one segment, or with /* for everything below. Write a path such as /v1/pets, /v1/pets/{petId} or /v1/*. */
  readonly path: string
  /** The name of the upstream. */
  readonly upstream: string
  /** The points that a request costs; 0 is free. Write a whole number from 0 to 1000000. */
  readonly cost?: number
  /** The methods to forward. Without it: those of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS that no other entry of the path names. */
  readonly methods?: readonly string[]
  /** The prefix that replaces the fixed part of the path in requests to the backend. Write a path that ends in /*, such as /api/*. */
  readonly rewrite?: string
  /** The largest request body. Write a size such as 64KiB or 1MiB. */
  readonly bodyLimit?: string
}

/** One or more targets that share the requests of the routes to this upstream. */
export interface UpstreamSettings {
  /** The targets that requests go to, in turn. */
  readonly targets: readonly (string | WeightedTarget)[]
  /** The way to other targets, step by step, and back if they fail. */
  readonly swap?: SwapSettings
  /** Time limits of a request. */
  readonly timeout?: UpstreamTimeouts
  /** How targets are checked, and when one is left out. */
  readonly health?: HealthSettings
  /** The most requests on their way at once; more get 503. Write a whole number above 0. */
  readonly maxInFlight?: number
  /** Whether each key is held to its share of maxInFlight while half of it is taken. Write on or off. */
  readonly fair?: 'on' | 'off'
  /** How the certificates of https targets are checked. */
  readonly tls?: UpstreamTls
  /** The requests that `tollgate upstream check` sends to a new backend. */
  readonly probes?: readonly ProbeSettings[]
}

export interface ProbeSettings {
  /** The method and path to send. Write GET and a path, such as GET /v1/pets?limit=1. */
  readonly request: string
  /** The expected status; without it, the status that the present backend answers. Write an HTTP status from 100 to 599. */
  readonly status?: number
}

/** How the certificates of https targets are checked. */
export interface UpstreamTls {
  /** A file with the certificates to trust, in place of Node.js' own. Each reload of the configuration reads it again. */
  readonly ca: string
}

/** How targets are checked, and when one is left out. */
export interface HealthSettings {
  /** The path that a check asks for; without it, a check only opens a connection. Write a path such as /healthz. */
  readonly path?: string
  /** The time between two checks. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly every?: string
  /** The number of checks or requests that must fail in a row for a target to be left out. Write a whole number above 0. */
  readonly unhealthyAfter?: number
}

/** Time limits of a request. */
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

/** The way to other targets, step by step, and back if they fail. */
export interface SwapSettings {
  /** The targets of the new side. */
  readonly to: readonly (string | WeightedTarget)[]
  /** The percentages of callers who go to the new side, rising. After the last step all do. */
  readonly steps?: readonly number[]
  /** The least time of a step. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly every?: string
  /** The methods that may go to the new side before all callers do; by default all. */
  readonly methods?: readonly string[]
  /** When it goes back by itself. */
  readonly back?: SwapBackSettings
}

/** When it goes back by itself. */
export interface SwapBackSettings {
  /** By how much the share of failures (5xx, no answer) of the new side may exceed the old one’s. Write a share such as 1% or 0.5%, up to 100%. */
  readonly errors?: string
  /** How many times as long as the old side’s the p95 of the new one may be. Write a number above 1, such as 2. */
  readonly slower?: number
  /** The requests to the new side in a step before it is judged, and before the next step comes. Write a whole number above 0. */
  readonly after?: number
  /** The number of callers that failures must have met to count; all, where a step has fewer. Write a whole number above 0. */
  readonly callers?: number
}

/** The URL of a target, or a target with its weight. */
export interface WeightedTarget {
  /** The URL of the target. Write an http or https URL without a path. */
  readonly url: string
  /** The number of requests that it gets for each one of a target with weight 1. Write a whole number from 1 to 1000. */
  readonly weight?: number
}

/** Headers to send besides X-RateLimit. */
export interface HeaderSettings {
  /** Whether RateLimit and RateLimit-Policy (draft 11) are sent. Write true or false. */
  readonly ietf?: boolean
  /** The percentages of a day’s limit that count as near its end. From the lowest one on, answers carry X-RateLimit-Notice; [] ends that. */
  readonly near?: readonly number[]
}

/** The pages for callers: the reference of the API, and how they stand. Without it: none. */
export interface PortalSettings {
  /** The path of the pages; they need no key. Write a path such as /docs. */
  readonly path?: string
  /** The OpenAPI document of the API, in YAML or JSON, from the working directory or from above this file. Each reload of the configuration reads it again. */
  readonly openapi: string
  /** Whether callers may give their own key a new token. Write on or off. */
  readonly rotate?: 'on' | 'off'
}

/** The endpoint of the gateway itself for callers that look back, and how finely their use is counted. */
export interface UsageSettings {
  /** The path at which callers read their usage by day; asking is free. Write a path such as /v1/quota. */
  readonly path?: string
  /** Whether gateways count the use of each key by route as well, for tollgate usage export --by route. Write true or false. */
  readonly routes?: boolean
}

/** The endpoint of the gateway itself for callers. */
export interface QuotaSettings {
  /** The path at which callers read their limits; asking is free. Write a path such as /v1/quota. */
  readonly path?: string
}

/** The cache of keys in each gateway. */
export interface KeySettings {
  /** The number of keys that each gateway keeps in memory, to spare look-ups in the store. Write a whole number above 0. */
  readonly cache?: number
}

/** When a key that goes on after refusals is banned, and for how long. */
export interface BanSettings {
  /** The number of strikes that ban a key. Write a whole number from 1 to 1000. */
  readonly strikes?: number
  /** The time within which these strikes must come. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly within?: string
  /** A refusal is a strike if it comes later than this after the first refusal of an episode. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly grace?: string
  /** The length of a first ban. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly for?: string
  /** A further ban lasts this many times as long as the one before. Write a number from 1 to 1000. */
  readonly factor?: number
  /** The longest time that a ban lasts. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly atMost?: string
  /** A ban that comes within this time after another one is a further ban. Write a duration such as 50ms, 1s, 5m or 24h. */
  readonly memory?: string
}

/** The limits of an address (IPv6: a /64) for requests without a valid key. */
export interface StrangerLimits {
  /** Requests without a valid key, per address and minute. Write a whole number above 0 or "unlimited". */
  readonly perMinute?: number | 'unlimited'
  /** Requests without a valid key, per address and day. Write a whole number above 0 or "unlimited". */
  readonly perDay?: number | 'unlimited'
}

/** The limits of a plan. In a custom plan, each key brings its own limits. */
export interface CustomPlan {
  /** Each key brings its own limits. */
  readonly limits: 'custom'
  /** Whether keys of this plan are banned if they go on after refusals. Write on or off. */
  readonly bans?: 'on' | 'off'
  /** The methods that keys of this plan may use; GET includes HEAD. Without it: all. */
  readonly methods?: readonly string[]
  /** The paths that keys of this plan may ask for, written like those of routes. Without it: all. */
  readonly paths?: readonly string[]
}

/** The limits of a plan. In a custom plan, each key brings its own limits. */
export interface PlanSettings {
  /** The points that a key may use up in a minute; minutes begin at second 0. Write a whole number above 0 or "unlimited". */
  readonly perMinute: number | 'unlimited'
  /** The points that a key may use up in a day; days begin at midnight, UTC. Write a whole number above 0 or "unlimited". */
  readonly perDay: number | 'unlimited'
  /** Lower limits that refuse nothing: requests that they would have refused are counted, for tollgate shadow report. */
  readonly shadow?: ShadowLimits
  /** Whether keys of this plan are banned if they go on after refusals. Write on or off. */
  readonly bans?: 'on' | 'off'
  /** The methods that keys of this plan may use; GET includes HEAD. Without it: all. */
  readonly methods?: readonly string[]
  /** The paths that keys of this plan may ask for, written like those of routes. Without it: all. */
  readonly paths?: readonly string[]
}

/** Lower limits that refuse nothing: requests that they would have refused are counted, for tollgate shadow report. */
export interface ShadowLimits {
  /** The points a minute of the shadow; without it: those of the plan. Write a whole number above 0 or "unlimited". */
  readonly perMinute?: number | 'unlimited'
  /** The points a day of the shadow; without it: those of the plan. Write a whole number above 0 or "unlimited". */
  readonly perDay?: number | 'unlimited'
}

/** The store of keys, counters and bans. */
export interface StoreSettings {
  /** The SQLite file of a gateway without Redis. A relative path starts at the working directory. */
  readonly file?: string
  /** The Redis that several gateways share; if empty, the file is used. Write a redis:// or rediss:// URL, { cluster: [...] } or { sentinels: [...], name: ... }. */
  readonly redis?: string | RedisCluster | RedisSentinels
  /** The beginning of every key in Redis. */
  readonly prefix?: string
  /** How long a request may wait for Redis. Write a duration above 0, such as 50ms, 1s, 5m or 24h. */
  readonly timeout?: string
  /** While Redis is out of reach: each gateway admits its share of every limit (local), every valid key is let in (allow), or no key is (deny). Write local, allow or deny. */
  readonly whenUnreachable?: 'local' | 'allow' | 'deny'
}

/** The Redis that several gateways share; if empty, the file is used. */
export interface RedisSentinels {
  /** The Sentinels that know which Redis is the master. */
  readonly sentinels: readonly string[]
  /** The name of the master in the Sentinels. */
  readonly name: string
  /** The user name for Redis; empty for none. */
  readonly username?: string
  /** The password for Redis; empty for none. */
  readonly password?: string
  /** Whether connections to Redis are encrypted. Write true, or { ca: FILE } with the certificates to trust. */
  readonly tls?: boolean | RedisTls
  /** The user name for the Sentinels; empty for none. */
  readonly sentinelUsername?: string
  /** The password for the Sentinels; empty for none. */
  readonly sentinelPassword?: string
}

/** The Redis that several gateways share; if empty, the file is used. */
export interface RedisCluster {
  /** Some nodes of a Redis Cluster; the gateway finds the others from them. */
  readonly cluster: readonly string[]
  /** The user name for Redis; empty for none. */
  readonly username?: string
  /** The password for Redis; empty for none. */
  readonly password?: string
  /** Whether connections to Redis are encrypted. Write true, or { ca: FILE } with the certificates to trust. */
  readonly tls?: boolean | RedisTls
}

/** Whether connections to Redis are encrypted. */
export interface RedisTls {
  /** A file with the certificates to trust, in place of Node.js' own. */
  readonly ca: string
}

/** The address for operators: health and metrics, and with ADMIN_TOKEN the admin API. */
export interface AdminSettings {
  /** The address to listen on for operators. If other machines can reach it, ADMIN_TOKEN is required. */
  readonly host?: string
  /** The port for operators; 0 is any free port. Write a port from 0 to 65535. */
  readonly port?: number
  /** Host names that requests to the admin address may use besides localhost and IP addresses: those to the console always, all others while only this machine can reach it. */
  readonly hosts?: readonly string[]
  /** Whether operators may read and save this file over the admin API and the console. The file’s secrets can be read then by every token without a role. Write true or false. */
  readonly save?: boolean
}

/** The address for callers. */
export interface ListenSettings {
  /** The address to listen on for callers; 0.0.0.0 is every address of this machine. */
  readonly host?: string
  /** The port for callers; 0 is any free port. Write a port from 0 to 65535. */
  readonly port?: number
}
