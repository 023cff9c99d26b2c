import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../gateway/office/config/config-error.ts'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { limitNames } from '../../shared/windows.ts'
import { root } from './process.ts'

/** The text of the configuration that comes with the gateway. */
export const shipped = readFileSync(join(root, 'config/gateway.yaml'), 'utf8')

/** The same limit in each window. */
function limitsOf(limit: number | 'unlimited'): string {
  return limitNames.map((name) => `${name}: ${limit}`).join(', ')
}

/** The mistakes in the text of a configuration, a line for each. */
export function messagesOf(text: string, name = 'x.yaml', environment = {}): string[] {
  try {
    parseConfig(text, environment, name)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

/** A file that takes from the environment wherever a value may stand. */
export const filled = `
plans:
  free: { perMinute: 60, perDay: "unlimited", bans: "\${BANS}" }
  dear: "\${PLAN}"
store:
  file: "\${FOLDER:-data}/gateway.db"
  prefix: "\${PREFIX}"
  timeout: "\${TIMEOUT}"
  redis: { sentinels: [ "\${HOST}:26379" ], name: gw, password: "\${PASSWORD}", sentinelPassword: in-the-file }
strangers: { perMinute: 60, perDay: "\${DAY:-unlimited}" }
upstreams:
  animals:
    targets: [ "http://\${HOST}:8090" ]
    timeout: { connect: "\${TIMEOUT}" }
    probes: [ { request: "GET /v1/\${WORD}" } ]
routes:
  - { path: "/v1/\${WORD}", upstream: "\${NAME}", methods: [ "\${METHOD}", GET ], bodyLimit: "\${SIZE}" }
deprecations:
  - { operation: "\${METHOD} /v1/\${WORD}", since: "\${SINCE}", docs: "https://x/?token=\${WORD}" }
trustedProxies: [ "\${PROXY}" ]
drain: "\${TIMEOUT}"
`

/** The variables of `filled`, of which canaries must not be shown. */
export const environment = {
  ...{ BANS: 'off', PLAN: 'custom', PREFIX: 'canary-prefix', TIMEOUT: '7s', HOST: 'canary-host' },
  ...{ PASSWORD: 'canary-password', WORD: 'canary-word', NAME: 'animals', METHOD: 'DELETE' },
  ...{ TOKEN_OF_THE_PROXY: 'canary-token-of-it' },
  ...{ SIZE: '7MiB', SINCE: '2007-07-07', PROXY: '77.77.77.77' },
}

/** One of each setting, some of which can't be there together. CERT and PRIVATE stand for files. */
export const everySetting = [
  'redis: { cluster: [ "127.0.0.1:7000" ]',
  'redis: { sentinels: [ "[::1]:26379" ], name: gw, sentinelUsername: s, sentinelPassword: p',
].map(
  (redis, i) => `
name: edge-1.eu_2:7
listen: { host: "::1", port: 0, tls: { cert: CERT, key: PRIVATE, minVersion: 1.2, ciphers: "HIGH:!aNULL" } }
admin: { host: localhost, port: 9001, trust: { from: [ 10.0.0.5 ], header: X-User, roles: { sam: all } }, tls: { cert: CERT, key: PRIVATE, minVersion: 1.2, ciphers: ECDHE-ECDSA-AES256-GCM-SHA384 }, hosts: [ gateway.internal ], save: true }
decide: { host: localhost, port: 9002, for: nginx, token: "\${TOKEN_OF_THE_PROXY}", tls: { cert: CERT, key: PRIVATE, minVersion: 1.3, ciphers: ECDHE-ECDSA-AES256-GCM-SHA384 } }
store:
  file: some/where.db
  ${redis}, username: u, password: p, tls: { ca: CERT } }
  prefix: "60"
  timeout: 70ms
  whenUnreachable: deny
plans:
  free: { ${limitsOf(7)}, atOnce: { limit: 7, linger: 2s }, shadow: { ${limitsOf(5)} }, bans: off, methods: [ GET, M-SEARCH ] }
  dear:
    limits: custom
    bans: off
    paths: [ /v1/*, '/v1/{a}' ]
    operations: { exports: { methods: [ GET ], paths: [ /v1/x ], ${limitsOf(3)}, atOnce: { limit: 1, linger: 2s } } }
  metered:
    perMinute: 7
    perDay: { limit: 7, beyond: meter, upTo: 300% }
    perWeek: { limit: 8, beyond: meter, upTo: 200% }
    perMonth: { limit: 9, beyond: meter, upTo: unlimited }
strangers: { ${limitsOf('unlimited')} }
bans: { strikes: 7, within: 2m, grace: 0s, for: 7m, factor: 1.5, atMost: 2h, memory: 7d }
keys: { cache: 7, from: [ Authorization, X-API-Key ] }
jwt:
  - issuer: https://login.example/
    audience: https://api.example
    claims: { azp: shop, /org/id: [ acme, '7' ] }
    keys: https://10.0.0.8/jwks.json
    algorithms: [ PS256 ]
    subject: id
    name: email
    account: { claim: tenant, prefix: 'kc:' }
    plan: { claim: plan, is: { gold: free }, else: free }
    scopes: scp
    forward: { X-Caller-Tenant: /org/id }
    maxCallers: 7
    allow: [ 10.0.0.0/8 ]
quota: { path: /me }
usage: { path: /mine }
tickets: on
portal: { path: /help/me, openapi: config/openapi/admin.yaml }
headers: { ietf: true, near: [ 50 ] }
via: edge.example:8080
upstreams:
  animals:
    targets: [ { url: "https://10.0.0.1:8443", weight: 9 }, "https://10.0.0.2/", "unix:/run/a.sock" ]
    swap: { to: [ { url: "https://10.0.0.3:8443", weight: 2 } ], steps: [ 5, 50% ], ${i === 0 ? 'every' : 'for'}: 7m, methods: [ GET ], back: { errors: 2%, slower: 3, after: 70, callers: 4 } }
    timeout: { connect: 2s, response: 3s, idle: 4s, request: 5s }
    health: { path: /well, every: 7s, unhealthyAfter: 7 }
    maxInFlight: 7
    fair: off
    forward: { cookies: on, host: caller, headers: { authorization: Bearer hunter2, x-tenant: hunter2 } }
    tls: { ca: CERT, cert: CERT, key: PRIVATE, name: animals.internal }
    probes: [ { request: HEAD /v1/x?y=1, status: 204 } ]
routes:
  - { path: "/v1/{a}", upstream: animals, cost: 5, methods: [ GET, M-SEARCH ], bodyLimit: 64KiB }
  - { path: "/v1/{b}", upstream: animals, cost: 0 }
  - { path: /v1/ask, upstream: animals, cost: { estimate: 10, from: answer, atMost: 500 } }
  - { path: /v1/chat, upstream: animals, cost: { estimate: 10, from: { json: /usage/total_tokens, times: 0.1 } } }
  - path: /v1/messages
    upstream: animals
    errors: on
    scopes: { GET: [], '*': [ messages ] }
    cost:
      estimate: 10
      from: { json: { /usage/input_tokens /message/usage/input_tokens: 1, /usage/output_tokens: 5 } }
      atMost: 100
      untold: nothing
      left: atMost
      drain: { time: 5s, size: 1MiB }
  - { path: /old/*, upstream: animals, rewrite: /api/* }
  - { path: /shop/*, upstream: animals, rewrite: / }
deprecations:
  - operation: DELETE /v1/{a}
    since: 2025-12-05T10:00+01:00
    sunset: 2030-12-05
    replacement: /v2/x?y=true&z=1
    docs: https://docs.example/?token=hunter2
    afterSunset: serve
    brownouts: [ { from: 2026-01-01, to: 2026-01-02 } ]
    extensions:
      - { key: k3yVb0TQnW8d, until: 2031-03-01, spare: true }
      - { account: acme, until: 2031-04-01T08:00Z }
cors: { origins: [ "*", "http://localhost:3000" ], expose: [ ETag ] }
traces: { to: "https://collector.example/otlp", sample: 0.5% }
notices: [ { to: "https://10.0.0.9/x", secret: sixteen characters, about: [ key.*, store.emptied ], allow: [ 10.0.0.0/8 ] } ]
workers: auto
drain: 1s
shutdown: 1m
trustedProxies: [ 10.0.0.0/8, "::1" ]
`,
)
