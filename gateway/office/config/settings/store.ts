import { Type } from '../../../../shared/schema.ts'
import { optional, required, section } from './setting.ts'
import { oneOf, text, time } from './values.ts'

const nodes = Type.Array(
  Type.String({ pattern: '^[^\\s:]+:\\d{1,5}$|^\\[[^\\s]+\\]:\\d{1,5}$', expected: 'host:port' }),
  { minItems: 1, expected: 'a list of host:port' },
)
/** A text that may be empty. */
const words = Type.String({ expected: 'a text' })

const ofManyNodes = {
  username: optional(words, 'The user name for Redis; empty for none.'),
  password: optional(words, 'The password for Redis; empty for none.'),
  tls: optional(
    Type.Union(
      [
        Type.Boolean(),
        section({
          ca: required(text, "A file with the certificates to trust, in place of Node.js' own."),
        }),
      ],
      { expected: 'true, or { ca: FILE } with the certificates to trust' },
    ),
    'Whether connections to Redis are encrypted.',
  ),
}

const redis = Type.Union(
  [
    Type.String({ pattern: '^(?:rediss?://\\S+)?$', expected: 'a redis:// or rediss:// URL' }),
    section({
      cluster: required(
        nodes,
        'Some nodes of a Redis Cluster; the gateway finds the others from them.',
      ),
      ...ofManyNodes,
    }),
    section({
      sentinels: required(nodes, 'The Sentinels that know which Redis is the master.'),
      name: required(text, 'The name of the master in the Sentinels.'),
      ...ofManyNodes,
      sentinelUsername: optional(words, 'The user name for the Sentinels; empty for none.'),
      sentinelPassword: optional(words, 'The password for the Sentinels; empty for none.'),
    }),
  ],
  {
    expected: 'a redis:// or rediss:// URL, { cluster: [...] } or { sentinels: [...], name: ... }',
  },
)

export const store = section({
  file: optional(
    text,
    'The SQLite file of a gateway without Redis. A relative path starts at the working directory.',
    'data/gateway.db',
  ),
  redis: optional(redis, 'The Redis that several gateways share; if empty, the file is used.', ''),
  prefix: optional(text, 'The beginning of every key in Redis.', 'tollgate:'),
  timeout: optional(time, 'How long a request may wait for Redis.', '50ms'),
  whenUnreachable: optional(
    oneOf('local', 'allow', 'deny'),
    'While Redis is out of reach: each gateway admits its share of every limit (local), every valid key is let in (allow), or no key is (deny).',
    'local',
  ),
})
