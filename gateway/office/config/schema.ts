import { Type, type TSchema } from '../../../shared/schema.ts'
import {
  collector,
  cost,
  count,
  duration,
  exactPath,
  factor,
  gatewayName,
  hostName,
  instant,
  limit,
  link,
  method,
  nodes,
  noticeWord,
  operation,
  origin,
  ownFolder,
  ownPath,
  path,
  percent,
  port,
  prefix,
  probe,
  sample,
  share,
  size,
  status,
  text,
  time,
  url,
  webhook,
  weight,
  wholePercent,
  words,
  workers,
  yesOrNo,
} from './values.ts'

const address = section({ host: optional(text), port: optional(port) })
const adminAddress = section({
  host: optional(text),
  port: optional(port),
  hosts: optional(Type.Array(hostName, { expected: 'a list of names without ports' })),
  save: optional(Type.Boolean({ expected: 'true or false' })),
})
const onOrOff = Type.Optional(Type.Enum(['on', 'off'], { expected: 'on or off' }))
const methods = optional(Type.Array(method, { minItems: 1, expected: 'a list of methods' }))
const ofEveryPlan = {
  bans: onOrOff,
  methods,
  paths: optional(Type.Array(path, { minItems: 1, expected: 'a list of paths' })),
}
const shadow = optional(section({ perMinute: optional(limit), perDay: optional(limit) }))
const plan = section({ perMinute: limit, perDay: limit, shadow, ...ofEveryPlan })
const customPlan = section({ limits: Type.Literal('custom'), ...ofEveryPlan })
const extension = Type.Union(
  [
    section({ key: text, until: instant, spare: optional(yesOrNo) }),
    section({ account: text, until: instant, spare: optional(yesOrNo) }),
  ],
  { expected: '{ key: ..., until: ... } or { account: ..., until: ... }' },
)
const target = Type.Union([url, section({ url, weight: optional(weight) })], {
  expected: 'an http or https URL without a path, or { url: ..., weight: ... }',
})
const targets = Type.Array(target, {
  minItems: 1,
  expected: 'a list of URLs, or of { url: ..., weight: ... }',
})
const swap = section({
  to: targets,
  steps: optional(
    Type.Array(percent, { minItems: 1, maxItems: 20, expected: 'a list of rising percentages' }),
  ),
  every: optional(time),
  methods,
  back: optional(
    section({
      errors: optional(share),
      slower: optional(factor),
      after: optional(count),
      callers: optional(count),
    }),
  ),
})
const redisAccess = {
  username: optional(words),
  password: optional(words),
  tls: optional(
    Type.Union([Type.Boolean(), section({ ca: text })], {
      expected: 'true, or { ca: FILE } with the certificates to trust',
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

/** The configuration file as operators write it. `expected` is the rule of a setting in words. */
export const fileSchema = section({
  name: optional(gatewayName),
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
    { expected: 'a section of plans with names in lower case', minProperties: 1 },
  ),
  strangers: optional(section({ perMinute: optional(limit), perDay: optional(limit) })),
  bans: optional(
    section({
      strikes: optional(
        Type.Integer({ minimum: 1, maximum: 1_000, expected: 'a whole number from 1 to 1000' }),
      ),
      within: optional(time),
      grace: optional(duration),
      for: optional(time),
      factor: optional(
        Type.Number({ minimum: 1, maximum: 1_000, expected: 'a number from 1 to 1000' }),
      ),
      atMost: optional(duration),
      memory: optional(duration),
    }),
  ),
  keys: optional(section({ cache: optional(count) })),
  quota: optional(section({ path: optional(ownPath) })),
  usage: optional(section({ path: optional(ownPath), routes: optional(yesOrNo) })),
  portal: optional(section({ path: optional(ownFolder), openapi: text, rotate: onOrOff })),
  headers: optional(
    section({
      ietf: optional(yesOrNo),
      near: optional(
        Type.Array(wholePercent, { maxItems: 10, expected: 'a list of whole percentages' }),
      ),
    }),
  ),
  upstreams: optional(
    Type.Record(
      Type.String(),
      section({
        targets,
        swap: optional(swap),
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
        fair: onOrOff,
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
      methods,
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
        extensions: optional(
          Type.Array(extension, { expected: 'a list of { key: ..., until: ... }' }),
        ),
      }),
      { expected: 'a list of deprecations' },
    ),
  ),
  notices: optional(
    Type.Array(
      section({
        to: webhook,
        secret: text,
        about: optional(Type.Array(noticeWord, { minItems: 1, expected: 'a list of events' })),
        allow: optional(Type.Array(text, { expected: 'a list of addresses or CIDR ranges' })),
      }),
      { expected: 'a list of { to: ..., secret: ... }' },
    ),
  ),
  cors: optional(
    section({ origins: optional(Type.Array(origin, { expected: 'a list of origins, or of *' })) }),
  ),
  traces: optional(section({ to: optional(collector), sample: optional(sample) })),
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
