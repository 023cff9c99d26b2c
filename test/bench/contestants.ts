import { invented, mistyped } from './callers.ts'
import type { Contestant } from './measure.ts'
import type { Server } from './server.ts'
import type { Stage } from './stage.ts'

const reference = 'bare Fastify and @fastify/http-proxy: the reference'
const embedded = 'Tollgate, embedded'
const inRedis = 'Tollgate, Redis'
const plainNginx = 'nginx, a plain proxy'
const luaNginx = 'nginx + Lua + Redis'

/** Those whose latency at a steady rate is measured. */
export const steady = [embedded, inRedis, reference, plainNginx, luaNginx]

const luaFull = `${luaNginx}: 429, the window is full`
const luaStranger = `${luaNginx}: 401, invented`
const luaBanned = `${luaNginx}: the key is banned`

const noPlans = 'keys and limits'
const noKeys = 'keys (it counts texts); the day is charged for what the minute refuses'
const noOperators =
  'strikes, reports, commands; a revoked key works for a minute; without Redis it refuses all'

type Line = readonly [name: string, server: Server | undefined, about?: About]
type About = Readonly<Partial<Omit<Contestant, 'name' | 'server'>>>

/** All that stands between load and backend, the reference first; `isQuick` leaves the heart of it. */
export function contestantsOf(stage: Stage, isQuick: boolean): Contestant[] {
  const lines = isQuick ? heart(stage) : [...heart(stage), ...others(stage)]
  return lines.flatMap(([name, server, about = {}]) =>
    server ? [{ name, server, request: stage.known, status: 200, ...about }] : [],
  )
}

function heart(stage: Stage): Line[] {
  const { full, banned, tokens, redis, proxy, nginxLua } = stage
  const [ours, fleet] = [stage.embedded.server, stage.inRedis.server]
  const redisPid = redis.pid
  const strange = invented()
  return [
    [reference, proxy('http-proxy'), { lacks: noPlans }],
    [embedded, ours, { rival: luaNginx }],
    ['Tollgate: 401, mistyped', ours, { request: mistyped(tokens), status: 401 }],
    ['Tollgate: 401, invented', ours, { request: strange, status: 401, rival: luaStranger }],
    [inRedis, fleet, { redisPid, rival: luaNginx }],
    [
      `${inRedis}: 429, the window is full`,
      fleet,
      { request: full, status: 429, redisPid, rival: luaFull },
    ],
    [
      `${inRedis}: the key is banned`,
      fleet,
      { request: banned, status: 429, redisPid, rival: luaBanned },
    ],
    [luaNginx, nginxLua, { redisPid, lacks: noOperators }],
    [luaFull, nginxLua, { request: full, status: 429, redisPid, lacks: noOperators }],
    [luaBanned, nginxLua, { request: banned, status: 429, redisPid, lacks: noOperators }],
    [luaStranger, nginxLua, { request: strange, status: 401, redisPid, lacks: noOperators }],
    [
      'the reference and 2 RateLimiterRedis',
      proxy('redis'),
      {
        redisPid,
        lacks:
          'bans; the day is charged for what the minute refuses; a Redis that hangs is waited for',
      },
    ],
  ]
}

function others(stage: Stage): Line[] {
  const { proxy, stack, collector } = stage
  const redisPid = stage.redis.pid
  const copy = (...of: Parameters<typeof stage.embedded.copy>) => stage.embedded.copy(...of).server
  const tracing = (sample: string) =>
    copy(`traces${sample}`, { traces: `{ to: "${collector}", sample: ${sample} }` })
  const strangers = '{ perMinute: 1, perDay: 1 }'
  return [
    [
      'Tollgate: a stranger over the limit',
      copy('strangers', { strangers }),
      { request: invented(), status: 429, isVariant: true },
    ],
    [
      'Tollgate, embedded: a decision for a proxy',
      stage.deciding.server,
      { request: stage.question, isVariant: true },
    ],
    [
      'Tollgate, Redis: a decision for a proxy',
      stage.decidingInRedis.server,
      { request: stage.question, redisPid, isVariant: true },
    ],
    [
      'Tollgate, embedded, signing',
      copy('signing', { env: { GATEWAY_SECRET: 's3cret' } }),
      { isVariant: true },
    ],
    [
      'Tollgate, embedded, one line a request in the log',
      copy('log', { env: { LOG_LEVEL: 'info' } }),
      { isVariant: true },
    ],
    ['Tollgate, embedded, tracing 5 %', tracing('5%'), { isVariant: true }],
    ['Tollgate, embedded, tracing each request', tracing('100%'), { isVariant: true }],
    [
      'node:http and undici, joined by hand',
      proxy('node'),
      { lacks: `${noPlans}, routes, errors, time limits` },
    ],
    [
      'the reference, a Map of keys, 2 RateLimiterMemory',
      proxy('memory'),
      { lacks: 'a second process, a restart (counts are lost), bans; refusals are charged' },
    ],
    [
      '2 × @fastify/rate-limit, Redis, and http-proxy',
      stack('rate-limit'),
      { redisPid, lacks: noKeys },
    ],
    ['fast-gateway, a plain proxy', stack('fast-gateway'), { lacks: noPlans }],
    ['express, 2 × express-rate-limit, Redis', stack('express'), { redisPid, lacks: noKeys }],
    [plainNginx, stage.nginx, { lacks: `${noPlans}; it is C` }],
    [
      'haproxy, with a stick table',
      stage.haproxy,
      { lacks: 'keys (it counts texts), days, other machines; it is C' },
    ],
    ['caddy, a plain proxy', stage.caddy, { lacks: noPlans }],
  ]
}
