import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashOf, keyIdOf, newKeyId, newToken } from '../../gateway/keys/token.ts'
import { quotaOf, type Key } from '../../gateway/keys/key.ts'
import { parseConfig } from '../../gateway/config/load.ts'
import { openStores } from '../../gateway/stores/open.ts'
import { freePort } from '../support/redis.ts'
import { bytes, startUpstream } from './load.ts'
import { measure, table, type Contestant, type Row, type Server, type Settings } from './measure.ts'
import { withRedis, type BenchRedis } from './redis.ts'

const program = 'test/bench/proxies.js'
const keyCount = 10_000
const manyKeys = 1_000_000

type Say = (line: string) => void
type Tokens = readonly string[]

/** Measures the cost of the gateway, beside a bare proxy without keys and limits. */
export async function benchProxy(settings: Settings, say: Say): Promise<readonly Row[]> {
  const upstream = await startUpstream()
  let rows: readonly Row[] = []
  try {
    await withRedis(async (redis) => {
      const isQuick = settings.rounds * settings.seconds < 5
      const contestants = await contestantsOf(upstream.url, redis, isQuick, say)
      rows = await measure(contestants, settings, say)
    })
  } finally {
    upstream.close()
  }
  say(`\n${table(rows)}\n`)
  return rows
}

async function contestantsOf(
  upstream: string,
  redis: BenchRedis,
  isQuick: boolean,
  say: Say,
): Promise<Contestant[]> {
  const { folder, url } = redis
  const tokens = Array.from({ length: keyCount }, () => newToken(newKeyId()))
  const tokenFile = join(folder, 'tokens')
  writeFileSync(tokenFile, tokens.join('\n'))
  const gateway = gateways(upstream, redis)
  const embedded = gateway('embedded')
  await embedded.add(tokens)
  const inRedis = gateway('redis', { store: `redis: "${url}"` })
  await inRedis.add(tokens)
  const [full, banned] = await inRedis.addUnwanted()
  const copies = (name: string, more: Parts): Server => {
    const other = gateway(name, more)
    copyFileSync(embedded.file, other.file)
    return other.server
  }
  const strangers = 'strangers: { perMinute: 1, perDay: 1 }'
  const of = (kind: string): Server => ({ program, args: [kind, upstream, tokenFile, url] })
  const stack = (kind: string): Server => ({
    program: join(process.env['BENCH_STACKS'] ?? '', 'stack.mjs'),
    args: [kind, upstream, url],
  })
  const known = get(...tokens)
  const contestants: Contestant[] = [
    ok('bare Fastify and @fastify/http-proxy: the reference', of('http-proxy'), known),
    ok('Tollgate, embedded', embedded.server, known),
    refused('Tollgate: 401, mistyped', embedded.server, mistyped(tokens)),
    refused('Tollgate: 401, invented', embedded.server, invented()),
    ok('Tollgate, Redis', inRedis.server, known),
    { ...ok('Tollgate, Redis: 429, the window is full', inRedis.server, get(full)), status: 429 },
    { ...ok('Tollgate, Redis: the key is banned', inRedis.server, get(banned)), status: 429 },
    ok('the reference and 2 RateLimiterRedis', of('redis'), known),
  ]
  if (isQuick) return contestants
  contestants.push(
    {
      ...refused(
        'Tollgate: a stranger over the limit',
        copies('strangers', { more: strangers }),
        invented(),
      ),
      status: 429,
    },
    ok('Tollgate, embedded, signing', copies('signing', { secret: 's3cret' }), known),
    ok(
      'Tollgate, embedded, one line a request in the log',
      copies('log', { level: 'info' }),
      known,
    ),
    ok('node:http and undici, joined by hand', of('node'), known),
    ok('the reference, a Map of keys, 2 RateLimiterMemory', of('memory'), known),
  )
  if (process.env['BENCH_STACKS']) {
    contestants.push(
      ok('2 × @fastify/rate-limit, Redis, and http-proxy', stack('rate-limit'), known),
      ok('fast-gateway, a plain proxy', stack('fast-gateway'), known),
      ok('express, 2 × express-rate-limit, Redis', stack('express'), known),
    )
  }
  for (const server of await others(upstream, folder)) contestants.push(ok(...server, known))
  const few = gateway('few')
  await few.add(tokens.slice(0, 4))
  contestants.push(ok('Tollgate, 1 route, 4 keys', few.server, get(...tokens.slice(0, 4))))
  say(`making ${manyKeys.toLocaleString('en')} keys`)
  const many = gateway('many', { routes: 1_000 })
  copyFileSync(embedded.file, many.file)
  for (let made = keyCount; made < manyKeys; made += 50_000) {
    await many.add(Array.from({ length: 50_000 }, () => newToken(newKeyId())))
  }
  contestants.push(ok('Tollgate, 1,000 routes, a million keys', many.server, known))
  return contestants
}

type Parts = Readonly<{
  store?: string
  routes?: number
  more?: string
  secret?: string
  level?: string
}>

/** Gateways as they are deployed: the program, a file for its configuration, and its store. */
function gateways(upstream: string, { folder }: BenchRedis) {
  return (name: string, parts: Parts = {}) => {
    const file = join(folder, `${name}.db`)
    const { store = `file: "${file}"`, routes = 1, secret, level = 'warn' } = parts
    const { more = 'strangers: { perMinute: unlimited, perDay: 1000000000 }' } = parts
    const moreRoutes = Array.from(
      { length: routes - 1 },
      (_, i) => `, { path: /r${i}/*, upstream: animals, cost: ${i % 5} }`,
    ).join('')
    const yaml = `
plans:
  bench: { perMinute: unlimited, perDay: 1000000000 }
  full: { perMinute: 1, perDay: 1000000000, bans: off }
listen: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
upstreams: { animals: { targets: [ "${upstream}" ], health: { path: / } } }
routes: [ { path: /v1/*, upstream: animals }${moreRoutes} ]
deprecations: [ { operation: "GET /v1/old/{id}", since: 2025-12-05 } ]
store: { ${store} }
${more}
`
    const config = join(folder, `${name}.yaml`)
    writeFileSync(config, yaml)
    const { store: settings } = parseConfig(yaml, {}, name)
    const server: Server = {
      program: 'gateway/main.js',
      env: {
        TOLLGATE_CONFIG: config,
        LOG_LEVEL: level,
        ...(secret ? { GATEWAY_SECRET: secret } : {}),
      },
    }
    const within = async <T>(act: (stores: ReturnType<typeof openStores>) => Promise<T>) => {
      const stores = openStores(settings, { forCommandLine: true })
      try {
        return await act(stores)
      } finally {
        await stores.close()
      }
    }
    const add = (tokens: Tokens, plan = 'bench') =>
      within(({ keys }) => keys.add(tokens.map((token) => keyOf(token, plan))))
    /** Two more keys: one whose window will be full, one that is banned. */
    const addUnwanted = async (): Promise<[string, string]> => {
      const [full, banned] = [newToken(newKeyId()), newToken(newKeyId())]
      await add([full], 'full')
      await add([banned])
      const key = keyOf(banned, 'bench')
      const untilMs = Date.now() + 3_600_000
      await within(({ quota }) => quota.ban(quotaOf(key), key.id, untilMs))
      return [full, banned]
    }
    return { file, server, add, addUnwanted }
  }
}

function keyOf(token: string, plan: string): Key {
  return {
    ...{ id: keyIdOf(token), name: 'bench', plan, createdAtMs: 0 },
    secrets: [{ hash: hashOf(token) }],
  }
}

/** Proxies that are no programs of Node's, where they are found. */
async function others(upstream: string, folder: string): Promise<[string, Server][]> {
  const port = new URL(upstream).port
  const { BENCH_NGINX: nginx, BENCH_HAPROXY: haproxy, BENCH_CADDY: caddy } = process.env
  const found: [string, Server][] = []
  if (nginx) {
    const own = await freePort()
    const home = join(folder, 'nginx')
    mkdirSync(home)
    const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    const config = `daemon off; master_process off; pid ${home}/pid; error_log /dev/null;
      events {}
      http {
        access_log off;
        ${places.map((place) => `${place}_temp_path ${home}/${place};`).join(' ')}
        upstream animals { server 127.0.0.1:${port}; keepalive 64; }
        server {
          listen 127.0.0.1:${own};
          keepalive_requests 1000000000;
          location / {
            proxy_pass http://animals; proxy_http_version 1.1; proxy_set_header Connection "";
          }
        }
      }`
    writeFileSync(join(home, 'nginx.conf'), config)
    const args = ['-p', home, '-c', join(home, 'nginx.conf'), '-e', '/dev/null']
    found.push(['nginx, a plain proxy', { command: nginx, args, url: `http://127.0.0.1:${own}` }])
  }
  if (haproxy) {
    const own = await freePort()
    const file = join(folder, 'haproxy.cfg')
    writeFileSync(
      file,
      `global
  nbthread 1
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
frontend in
  bind 127.0.0.1:${own}
  stick-table type string len 128 size 1m expire 1d store http_req_rate(60s),gpc0
  http-request track-sc0 req.hdr(Authorization)
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 1000000000 }
  default_backend out
backend out
  server one 127.0.0.1:${port}
`,
    )
    const args = ['-db', '-q', '-f', file]
    found.push([
      'haproxy, with a stick table',
      { command: haproxy, args, url: `http://127.0.0.1:${own}` },
    ])
  }
  if (caddy) {
    const own = await freePort()
    const url = `http://127.0.0.1:${own}`
    const args = ['reverse-proxy', '--from', url, '--to', `127.0.0.1:${port}`]
    found.push(['caddy, a plain proxy', { command: caddy, args, url }])
  }
  return found
}

function ok(name: string, server: Server, request: Contestant['request']): Contestant {
  return { name, server, request, status: 200 }
}

function refused(name: string, server: Server, request: Contestant['request']): Contestant {
  return { name, server, request, status: 401 }
}

/** A request for pets by one token after the other. */
function get(...tokens: Tokens): Contestant['request'] {
  const asks = tokens.map((token) => bytes('GET', '/v1/pets', { Authorization: `Bearer ${token}` }))
  return (n) => asks[n % asks.length] ?? ''
}

function mistyped(tokens: Tokens): Contestant['request'] {
  return get(...tokens.map((token) => `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`))
}

function invented(): Contestant['request'] {
  return get(...Array.from({ length: keyCount }, () => newToken(newKeyId())))
}
