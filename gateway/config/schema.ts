import Type, { type Static, type TSchema } from 'typebox'
import { durationFrom, instantFrom, sizeFrom } from './units.ts'

const count = Type.Integer({ minimum: 1, expected: 'a whole number above 0' })
const cost = Type.Integer({ minimum: 0, maximum: 1_000_000, expected: 'a whole number from 0 up' })
const limit = Type.Union([count, Type.Literal('unlimited')], {
  expected: 'a whole number above 0 or "unlimited"',
})
const workers = Type.Union([Type.Integer({ minimum: 1, maximum: 256 }), Type.Literal('auto')], {
  expected: 'a whole number from 1 to 256, or auto',
})
const text = Type.String({ minLength: 1, expected: 'a text' })
const port = Type.Integer({ minimum: 0, maximum: 65_535, expected: 'a port from 0 to 65535' })
const duration = Type.Refine(
  Type.String({ expected: 'a duration such as 50ms, 1s, 5m or 24h' }),
  (value) => durationFrom(value) !== undefined,
  () => 'must be a duration such as 50ms, 1s, 5m or 24h, of ten years at most',
)
const instant = Type.Refine(
  Type.String({ expected: 'a day such as 2030-12-05, or a time with its zone' }),
  (value) => instantFrom(value) !== undefined,
  () => 'must be a day such as 2030-12-05, or a time with its zone',
)
const address = section({ host: text, port })
const hostName = Type.String({
  pattern: '^[\\w-]+(?:\\.[\\w-]+)*$',
  expected: 'a name such as gateway.internal, without a port',
})
const adminAddress = section({
  host: text,
  port,
  hosts: optional(Type.Array(hostName, { expected: 'a list of names without ports' })),
})
const limits = section({ perMinute: limit, perDay: limit })
const off = Type.Optional(Type.Enum(['on', 'off'], { expected: 'on or off' }))
const plan = section({ perMinute: limit, perDay: limit, bans: off })
const customPlan = section({ limits: Type.Literal('custom'), bans: off })
const size = Type.Refine(
  Type.String({ expected: 'a size such as 64KiB or 1MiB' }),
  (value) => sizeFrom(value) !== undefined,
  () => 'must be a size such as 64KiB or 1MiB',
)
const url = Type.String({
  pattern: '^https?://[^/?#@]+/?$',
  expected: 'an http or https URL without a path',
})
const weight = Type.Integer({ minimum: 1, maximum: 1_000, expected: 'from 1 to 1000' })
const target = Type.Union([url, section({ url, weight: optional(weight) })], {
  expected: 'an http or https URL without a path, or { url: ..., weight: ... }',
})
const status = Type.Integer({ minimum: 100, maximum: 599, expected: 'a status of HTTP' })
const operation = Type.String({
  pattern: '^[A-Z]+ /\\S*$',
  expected: 'a method and a path, such as GET /v1/pets/{petId}',
})
const origin = Type.String({
  pattern: '^(?:\\*|https?://[^/?#@\\s]+)$',
  expected: 'an origin such as https://app.example, or *',
})
const probe = Type.String({
  pattern: '^(?:GET|HEAD|OPTIONS) /\\S*$',
  expected: 'GET and a path, such as GET /v1/pets?limit=1',
})
const method = Type.String({ pattern: '^[A-Z]+$', expected: 'a method such as GET' })
const pathPattern = Type.String({
  pattern: '^(?:/(?:[^/{}*:?#\\s]+|\\{\\w+\\}))*/(?:\\*|[^/{}*:?#\\s]+|\\{\\w+\\})?$',
  expected: 'a path such as /v1/pets, /v1/pets/{petId} or /v1/*',
})
const exactPath = Type.String({
  pattern: '^/[^{}*?#\\s]*$',
  expected: 'a path such as /healthz',
})
const prefix = Type.String({
  pattern: '^(?:/[^/{}*:?#\\s]+)*/\\*$',
  expected: 'a path that ends in /*, such as /api/*',
})

const nodes = Type.Array(
  Type.String({ pattern: '^[^\\s:]+:\\d{1,5}$|^\\[[^\\s]+\\]:\\d{1,5}$', expected: 'host:port' }),
  { minItems: 1, expected: 'a list of host:port' },
)

const words = Type.String({ expected: 'a text' })
const redisAccess = {
  username: optional(words),
  password: optional(words),
  tls: optional(
    Type.Union([Type.Boolean(), section({ ca: text })], {
      expected: 'true, or { ca: FILE } with the certificates to believe',
    }),
  ),
}

const redis = Type.Union(
  [
    Type.String({ pattern: '^(?:rediss?://\\S+)?$', expected: 'a redis:// or rediss:// URL' }),
    section({ cluster: nodes, ...redisAccess }),
    section({
      sentinels: nodes,
      name: text,
      ...redisAccess,
      sentinelUsername: optional(words),
      sentinelPassword: optional(words),
    }),
  ],
  {
    expected: 'a redis:// or rediss:// URL, { cluster: [...] } or { sentinels: [...], name: ... }',
  },
)

/** The configuration file as operators write it. `expected` says in words what may stand there. */
export const fileSchema = section({
  listen: optional(address),
  admin: optional(adminAddress),
  store: optional(
    section({
      file: optional(text),
      redis: optional(redis),
      prefix: optional(text),
      timeout: optional(duration),
      whenUnreachable: optional(
        Type.Enum(['local', 'allow', 'deny'], { expected: 'local, allow or deny' }),
      ),
    }),
  ),
  plans: Type.Record(
    Type.String({ pattern: '^[a-z][a-z0-9-]{0,31}$' }),
    Type.Union([plan, Type.Literal('custom'), customPlan], {
      expected: '{ perMinute: ..., perDay: ... } or custom',
    }),
    { expected: 'a section of plans, each by a name in small letters', minProperties: 1 },
  ),
  strangers: optional(limits),
  bans: optional(
    section({
      strikes: optional(Type.Integer({ minimum: 1, maximum: 1_000, expected: 'from 1 to 1000' })),
      within: optional(duration),
      grace: optional(duration),
      for: optional(duration),
      factor: optional(Type.Number({ minimum: 1, maximum: 1_000, expected: 'a number from 1 up' })),
      atMost: optional(duration),
      memory: optional(duration),
    }),
  ),
  keys: optional(section({ cache: optional(count) })),
  quota: optional(section({ path: optional(exactPath) })),
  headers: optional(section({ ietf: optional(Type.Boolean({ expected: 'true or false' })) })),
  upstreams: optional(
    Type.Record(
      Type.String(),
      section({
        targets: Type.Array(target, {
          minItems: 1,
          expected: 'a list of URLs, or of { url: ..., weight: ... }',
        }),
        timeout: optional(
          section({
            connect: optional(duration),
            response: optional(duration),
            idle: optional(duration),
            request: optional(duration),
          }),
        ),
        health: optional(
          section({
            path: optional(exactPath),
            every: optional(duration),
            unhealthyAfter: optional(count),
          }),
        ),
        maxInFlight: optional(count),
        fair: optional(Type.Enum(['on', 'off'], { expected: 'on or off' })),
        tls: optional(section({ ca: text })),
        probes: optional(
          Type.Array(section({ request: probe, status: optional(status) }), {
            expected: 'a list of { request: GET /path, status: 200 }',
          }),
        ),
      }),
      { expected: 'upstreams by name' },
    ),
  ),
  routes: Type.Array(
    section({
      path: pathPattern,
      upstream: text,
      cost: optional(cost),
      methods: optional(Type.Array(method, { minItems: 1, expected: 'a list of methods' })),
      rewrite: optional(prefix),
      bodyLimit: optional(size),
    }),
    { expected: 'a list of routes' },
  ),
  deprecations: optional(
    Type.Array(
      section({
        operation,
        since: instant,
        sunset: optional(instant),
        replacement: optional(text),
        docs: optional(text),
        afterSunset: optional(Type.Enum(['gone', 'serve'], { expected: 'gone or serve' })),
        brownouts: optional(Type.Array(section({ from: instant, to: instant }))),
      }),
    ),
  ),
  cors: optional(
    section({ origins: Type.Array(origin, { expected: 'a list of origins, or of *' }) }),
  ),
  workers: optional(workers),
  drain: optional(duration),
  shutdown: optional(duration),
  trustedProxies: optional(Type.Array(text, { expected: 'a list of addresses or CIDR ranges' })),
})

export type ConfigFile = Static<typeof fileSchema>

function section<Properties extends Record<string, TSchema>>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false, expected: 'a section of settings' })
}

function optional<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(schema)
}
