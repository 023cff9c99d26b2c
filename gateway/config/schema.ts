import Type, { type TSchema } from 'typebox'
import {
  durationFrom,
  durationPattern,
  instantFrom,
  instantPattern,
  sizeFrom,
  sizePattern,
} from './units.ts'

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
  Type.String({ pattern: durationPattern, expected: 'a duration such as 50ms, 1s, 5m or 24h' }),
  (value) => durationFrom(value) !== undefined,
)
const time = Type.Refine(
  Type.String({
    pattern: `^(?=.*[1-9])${durationPattern.slice(1)}`,
    expected: 'a duration above 0, such as 50ms, 1s, 5m or 24h',
  }),
  (value) => durationFrom(value) !== undefined,
)
const instant = Type.Refine(
  Type.String({
    pattern: instantPattern,
    expected: 'a day such as 2030-12-05, or a time with its zone',
  }),
  (value) => instantFrom(value) !== undefined,
)
const address = section({ host: optional(text), port: optional(port) })
const hostName = Type.String({
  pattern: '^[\\w-]+(?:\\.[\\w-]+)*$',
  expected: 'a name such as gateway.internal, without a port',
})
const adminAddress = section({
  host: optional(text),
  port: optional(port),
  hosts: optional(Type.Array(hostName, { expected: 'a list of names without ports' })),
})
const off = Type.Optional(Type.Enum(['on', 'off'], { expected: 'on or off' }))
const plan = section({ perMinute: limit, perDay: limit, bans: off })
const customPlan = section({ limits: Type.Literal('custom'), bans: off })
const size = Type.Refine(
  Type.String({ pattern: sizePattern, expected: 'a size such as 64KiB or 1MiB' }),
  (value) => sizeFrom(value) !== undefined,
)
const url = Type.Refine(
  Type.String({
    pattern: '^https?://[^/?#@]+/?$',
    expected: 'an http or https URL without a path',
  }),
  (value) => URL.canParse(value),
)
const weight = Type.Integer({ minimum: 1, maximum: 1_000, expected: 'from 1 to 1000' })
const target = Type.Union([url, section({ url, weight: optional(weight) })], {
  expected: 'an http or https URL without a path, or { url: ..., weight: ... }',
})
const status = Type.Integer({ minimum: 100, maximum: 599, expected: 'a status of HTTP' })
const origin = Type.String({
  pattern: '^(?:\\*|https?://[^/?#@\\s]+)$',
  expected: 'an origin such as https://app.example, or *',
})
const probe = Type.String({
  pattern: '^(?:GET|HEAD|OPTIONS) /\\S*$',
  expected: 'GET and a path, such as GET /v1/pets?limit=1',
})
const method = Type.String({ pattern: '^[A-Z-]+$', expected: 'a method such as GET' })
const segment = '(?:[^/{}*:?#\\s]+|\\{\\w+\\})'

/** How paths of routes are written, and operations. */
export const pathPattern = `^(?:/${segment})*/(?:\\*|${segment})?$`
export const operationPattern = `^[A-Z-]+ ${pathPattern.slice(1)}`

const path = Type.String({
  pattern: pathPattern,
  expected: 'a path such as /v1/pets, /v1/pets/{petId} or /v1/*',
})
const operation = Type.String({
  pattern: operationPattern,
  expected: 'a method and a path, such as GET /v1/pets/{petId}',
})
const exactPath = Type.String({
  pattern: '^/[^{}*?#\\s]*$',
  expected: 'a path such as /healthz',
})
const ownPath = Type.String({
  pattern: '^/[^{}*:?#\\s]*$',
  expected: 'a path such as /v1/quota',
})
// It goes into a header, in which angle brackets end it.
const link = Type.String({
  pattern: '^[^\\s<>"]+$',
  expected: 'a path or a URL without spaces',
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
      timeout: optional(time),
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
  strangers: optional(section({ perMinute: optional(limit), perDay: optional(limit) })),
  bans: optional(
    section({
      strikes: optional(Type.Integer({ minimum: 1, maximum: 1_000, expected: 'from 1 to 1000' })),
      within: optional(time),
      grace: optional(duration),
      for: optional(time),
      factor: optional(Type.Number({ minimum: 1, maximum: 1_000, expected: 'a number from 1 up' })),
      atMost: optional(duration),
      memory: optional(duration),
    }),
  ),
  keys: optional(section({ cache: optional(count) })),
  quota: optional(section({ path: optional(ownPath) })),
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
            connect: optional(time),
            response: optional(time),
            idle: optional(time),
            request: optional(time),
          }),
        ),
        health: optional(
          section({
            path: optional(exactPath),
            every: optional(time),
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
      path,
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
        replacement: optional(link),
        docs: optional(link),
        afterSunset: optional(Type.Enum(['gone', 'serve'], { expected: 'gone or serve' })),
        brownouts: optional(
          Type.Array(section({ from: instant, to: instant }), {
            expected: 'a list of { from: ..., to: ... }',
          }),
        ),
      }),
      { expected: 'a list of deprecations' },
    ),
  ),
  cors: optional(
    section({ origins: optional(Type.Array(origin, { expected: 'a list of origins, or of *' })) }),
  ),
  workers: optional(workers),
  drain: optional(duration),
  shutdown: optional(duration),
  trustedProxies: optional(Type.Array(text, { expected: 'a list of addresses or CIDR ranges' })),
})

function section<Properties extends Record<string, TSchema>>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false, expected: 'a section of settings' })
}

function optional<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(schema)
}
