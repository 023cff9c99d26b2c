import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import got from 'got'
import ky from 'ky'
import t, { type Test } from 'tap'
import { actNames, type ActName } from '../../gateway/acts/act.ts'
import type { KeySettings } from '../../gateway/keys/settings.ts'
import { tollgate } from '../../gateway/plugin.ts'
import { statusByCode } from '../../shared/refusal.ts'
import { startAdmin } from '../support/admin.ts'
import {
  startGateway,
  startUpstream,
  type Gateway,
  type GatewayOptions,
} from '../support/gateway.ts'
import { caller, json, type Answer } from '../support/http.ts'
import { root } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const noon = Date.UTC(2026, 5, 15, 12)
const deprecations = `
deprecations:
  - { operation: GET /v1/old, since: 2026-01-01, sunset: 2027-01-01, replacement: /v1/new }
  - { operation: GET /v1/gone, since: 2026-01-01, sunset: 2026-02-01, replacement: /v1/new }
  - operation: GET /v1/brown
    since: 2026-01-01
    sunset: 2027-01-01
    replacement: /v1/new
    brownouts: [ { from: 2026-06-15T11:00:00Z, to: 2026-06-15T13:00:00Z } ]
`
const strict = 'bans: { strikes: 1, grace: 0s }\nstrangers: { perMinute: 1, perDay: 9 }'

type Stage = Gateway & Readonly<{ pass: (ms: number) => void }>
type Asks = (path?: string, more?: Record<string, string>) => Promise<Answer>

/** The real thing of each act: the gateway that it needs, the key, and how it is provoked. */
type Real = Readonly<{
  settings?: Partial<KeySettings>
  options?: (t: Test) => Promise<GatewayOptions>
  provoke: (ask: Asks, stage: Stage) => Promise<Answer>
}>

const twice = async (ask: Asks): Promise<Answer> => (await ask(), ask())
const reals: Readonly<Record<ActName, Real>> = {
  minute: { settings: { limits: { perMinute: 1, perDay: 9 } }, provoke: twice },
  day: { settings: { limits: { perMinute: 9, perDay: 1 } }, provoke: twice },
  ban: {
    settings: { limits: { perMinute: 1 } },
    provoke: async (ask, { pass }) => (await twice(ask), pass(1), ask()),
  },
  too_many_failed_attempts: {
    provoke: async (_ask, { call }) => (await call('GET', '/v1/pets'), call('GET', '/v1/pets')),
  },
  too_many_at_once: {
    options: async (t) => ({
      upstream: await startUpstream(t, () => undefined),
      upstreamMore: 'maxInFlight: 4',
    }),
    provoke: async (ask, { upstream }) => {
      for (let i = 0; i < 2; i++) void ask().catch(() => undefined)
      await until(() => upstream.seen.length === 2)
      return ask()
    },
  },
  expired: {
    settings: { expiresAtMs: noon + 5 },
    provoke: (ask, { pass }) => (pass(5), ask()),
  },
  forbidden: { settings: { methods: ['POST'] }, provoke: (ask) => ask() },
  sunset: { provoke: (ask) => ask('/v1/gone') },
  brownout: { provoke: (ask) => ask('/v1/brown') },
  deprecated: { provoke: (ask) => ask('/v1/old') },
  bad_gateway: {
    options: async () => ({ targets: '[ "http://127.0.0.1:1" ]' }),
    provoke: (ask) => ask(),
  },
  gateway_timeout: {
    options: async (t) => ({
      upstream: await startUpstream(t, () => undefined),
      upstreamMore: 'timeout: { response: 20ms }',
    }),
    provoke: (ask) => ask(),
  },
  unavailable: {
    options: async () => ({
      targets: '[ "http://127.0.0.1:1" ]',
      upstreamMore: 'health: { path: /up, every: 100ms, unhealthyAfter: 1 }',
    }),
    provoke: async (ask, { app }) => {
      await until(() => app.core.upstreams.all[0]?.targets[0]?.isHealthy === false)
      return ask()
    },
  },
  near_limit: { settings: { limits: { perDay: 1 } }, provoke: (ask) => ask() },
  slow: { provoke: (ask) => ask() },
}

const wishOf = (name: ActName): string => (name === 'slow' ? 'slow=5ms' : name)

async function startStage(t: Test, options: GatewayOptions = {}): Promise<Stage> {
  let now = noon
  const gateway = await startGateway(t, {
    ...{ clock: () => now, more: deprecations + strict },
    ...options,
  })
  return { ...gateway, pass: (ms) => void (now += ms) }
}

/** An answer without all that two of one kind may differ in: numbers, times and paths. */
function formOf({ status, headers, text }: Answer) {
  const body = status < 400 ? { ...json(text), up: '', acted: '' } : json(text)
  const sentence = (typeof body['message'] === 'string' ? body['message'] : '')
    .replace(/\d[\d,]*/g, 'N')
    .replace(/\/\S+/g, '/')
  return {
    status,
    code: body['code'],
    sentence,
    body: Object.keys(body).sort(),
    headers: Object.keys(headers)
      .filter((name) => name !== 'x-gateway-acted')
      .sort(),
    type: headers['content-type']?.toString().split(';')[0],
    fixed: ['cache-control', 'www-authenticate', 'connection'].map((name) => headers[name]),
  }
}

/** The code that each act is refused with. */
const codeByAct = new Map<ActName, string>()

for (const name of actNames) {
  t.test(`acts ${name} as it is`, async (t) => {
    const { settings, options, provoke } = reals[name]
    const stage = await startStage(t, await options?.(t))
    const asksAs = async (wanted: Partial<KeySettings>): Promise<Asks> => {
      const { headers } = await stage.key(wanted)
      return (path = '/v1/pets', more = {}) =>
        stage.call('GET', path, undefined, { ...headers, ...more })
    }
    // First the act, which leaves nothing behind, then the real thing.
    const wish = wishOf(name)
    const asActor = await asksAs({ ...settings, methods: undefined, test: true })
    const acted = await asActor('/v1/pets', { 'x-gateway-act': wish })
    t.equal(acted.headers['x-gateway-acted'], wish)
    t.strictSame(stage.upstream.seen, [], 'no backend hears of it')
    const real = await provoke(await asksAs(settings ?? {}), stage)
    t.equal(real.headers['x-gateway-acted'], undefined)
    t.strictSame(formOf(acted), formOf(real))
    if (name === 'minute' || name === 'day') t.equal(acted.text, real.text, 'to the second')
    if (acted.status < 400) t.strictSame(json(acted), { acted: wish })
    else codeByAct.set(name, String(json(acted)['code']))
    stage.server.closeAllConnections()
  })
}

t.test('the README says of every code how to get it', (t) => {
  const text = readFileSync(join(root, 'gateway/portal/README.md'), 'utf8')
  const rows = [...text.matchAll(/^\| (`\w+`(?:, `\w+`)*) +\| (.+?) +\|$/gm)]
  const told = rows.flatMap(([, names = '', how = '']) =>
    [...names.matchAll(/\w+/g)].map(([code]) => [code, how] as const),
  )
  t.strictSame(told.map(([code]) => code).sort(), Object.keys(statusByCode).sort())
  const acts = told.flatMap(([code, how]) =>
    [...how.matchAll(/`X-Gateway-Act: (\w+)`/g)].map(([, act]) => [act, code]),
  )
  t.strictSame(Object.fromEntries(acts), Object.fromEntries(codeByAct))
  t.end()
})

t.test('a wish that nobody can act is refused, and says why', async (t) => {
  const { call, key, upstream } = await startStage(t, { more: `headers: { near: [] }\n${strict}` })
  const limits = { perMinute: 'unlimited', perDay: 'unlimited' } as const
  const { headers } = await key({ limits, test: true })
  const ask = (wish: string, path = '/v1/pets') =>
    call('GET', path, undefined, { ...headers, 'x-gateway-act': wish })
  const all = `${actNames.slice(0, -1).join(', ')}, slow=3s (up to 10s)`
  for (const wish of [
    'hour',
    '',
    'minute, day',
    'minute=3',
    'slow',
    'slow=11s',
    'slow=0s',
    '__proto__',
  ]) {
    const { status, headers, text } = await ask(wish)
    t.match([status, json(text)['message']], [400, `X-Gateway-Act can be ${all}.`], wish)
    t.equal(headers['x-gateway-acted'], undefined)
  }
  for (const [wish, why] of [
    ['minute', /no limit a minute/],
    ['day', /no limit a day/],
    ['near_limit', /never told/],
  ] as const) {
    t.match(json(await ask(wish)), { code: 'invalid_request', message: why })
  }
  t.equal((await ask('minute', '/v1/quota')).status, 200, 'nothing is acted at /v1/quota')
  t.equal((await ask('expired', '/v1/quota')).status, 200)
  t.strictSame(upstream.seen, [])
})

t.test('at the gateway’s own paths nothing is acted, with any method', async (t) => {
  const { call, key } = await startStage(t, {
    more: `portal: { path: /docs, rotate: on, openapi: ${join(root, 'config/openapi/animal-store.yaml')} }\n${strict}`,
  })
  const { headers } = await key({ test: true })
  for (const [method, path] of [
    ['POST', '/v1/quota'],
    ['DELETE', '/v1/usage'],
    ['GET', '/v1/key/rotate'],
  ] as const) {
    const plain = await call(method, path, undefined, headers)
    t.equal(plain.status, 405, path)
    for (const name of actNames) {
      const more = { 'x-gateway-act': wishOf(name) }
      const {
        status,
        text,
        headers: told,
      } = await call(method, path, undefined, {
        ...headers,
        ...more,
      })
      t.strictSame([status, text], [405, plain.text], `${path}: ${name}`)
      t.equal(told['x-gateway-acted'], undefined)
    }
  }
})

t.test('on an app’s own guarded routes all is acted, before their handlers', async (t) => {
  const { config, stores, key } = await startStage(t)
  const { headers } = await key({ limits: { perMinute: 100, perDay: 100 }, test: true })
  const handled: string[] = []
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(tollgate, { loaded: config, stores })
  app.get('/mine', { config: { tollgate: true } }, ({ headers }) => {
    handled.push(String(headers['x-gateway-act']))
    return { mine: true }
  })
  for (const name of actNames.filter((name) => name !== 'too_many_failed_attempts')) {
    const wish = wishOf(name)
    const more = { ...headers, 'x-gateway-act': wish }
    const answer = await app.inject({ url: '/mine', headers: more })
    t.equal(answer.headers['x-gateway-acted'], wish)
    const code = codeByAct.get(name)
    t.match(answer.json(), code === undefined ? { acted: wish } : { code }, name)
  }
  t.strictSame(handled, [])
  t.equal((await app.inject({ url: '/mine', headers })).body, '{"mine":true}')
  t.strictSame(handled, ['undefined'])
})

t.test('on any other key the header does nothing, and no backend sees it', async (t) => {
  const { call, key, upstream } = await startStage(t)
  const { headers } = await key({ limits: { perMinute: 9 } })
  for (const name of ['X-Gateway-Act', 'x_gateway_act', 'X-Gateway-Acted']) {
    const answer = await call('GET', '/v1/pets', undefined, { ...headers, [name]: 'minute' })
    t.match([answer.status, answer.text], [200, '{"up":"stream"}'])
    t.equal(answer.headers['x-gateway-acted'], undefined)
  }
  t.equal(upstream.seen.length, 3)
  t.notMatch(JSON.stringify(upstream.seen.map(({ headers }) => headers)), /gateway.act/i)
  t.match(json(await call('GET', '/v1/quota', undefined, headers)), { minute: { remaining: 6 } })
})

t.test('what is real comes before what is acted', async (t) => {
  const { call, key, pass, server } = await startStage(t, {
    routes: '[ { path: /v1/*, upstream: animals, methods: [ GET, POST ], bodyLimit: 1B } ]',
  })
  const { headers } = await key({ limits: { perMinute: 1 }, paths: ['/v1/*'], test: true })
  const ask = (path: string, wish: string, method = 'GET', body?: string) =>
    call(method, path, body, { ...headers, 'x-gateway-act': wish })
  const cases = [
    [404, await ask('/nowhere', 'minute')],
    [405, await ask('/v1/pets', 'bad_gateway', 'PUT')],
    [410, await ask('/v1/gone', 'bad_gateway')],
    [413, await ask('/v1/pets', 'bad_gateway', 'POST', 'long')],
  ] as const
  for (const [status, answer] of cases.slice(1)) {
    t.equal(answer.status, status)
    t.equal(answer.headers['x-gateway-acted'], undefined, String(status))
  }
  t.equal(cases[0][1].status, 403, 'a path that the key may not use')
  for (let i = 0; i < 3; i++) await call('GET', '/v1/pets', undefined, (pass(1), headers))
  const banned = await ask('/v1/pets', 'minute')
  t.match(json(banned), { code: 'key_banned' })
  t.equal(banned.headers['x-gateway-acted'], undefined)
  server.closeAllConnections()
})

t.test('slow takes room until it ends, and a caller that leaves gives it back', async (t) => {
  const { call, key, app, url } = await startStage(t, { upstreamMore: 'maxInFlight: 2, fair: off' })
  const { headers } = await key({ test: true })
  const ask = (wish: string) =>
    call('GET', '/v1/pets', undefined, { ...headers, 'x-gateway-act': wish })
  const [upstream] = app.core.upstreams.all
  const leave = new AbortController()
  const held = [1, 2].map(() =>
    fetch(`${url}/v1/pets`, {
      headers: { ...headers, 'x-gateway-act': 'slow=10s' },
      signal: leave.signal,
    }).catch(() => 'gone'),
  )
  await until(() => upstream?.underWay.count === 2)
  t.match(json(await ask('slow=5ms')), { code: 'service_unavailable' }, 'there is no more room')
  leave.abort()
  t.strictSame(await Promise.all(held), ['gone', 'gone'])
  await until(() => upstream?.underWay.count === 0)
  t.equal((await ask('slow=5ms')).status, 200)
  t.equal(upstream?.underWay.count, 0)
})

t.test('slow takes of the fair share of its key until it ends', async (t) => {
  const { key, app, url, call } = await startStage(t, { upstreamMore: 'maxInFlight: 6' })
  const [{ headers }, other] = [await key({ test: true }), await key({ test: true })]
  const ask = (wish: string, by = headers) =>
    call('GET', '/v1/pets', undefined, { ...by, 'x-gateway-act': wish })
  const [upstream] = app.core.upstreams.all
  const leave = new AbortController()
  const held = [1, 2, 3].map(() =>
    fetch(`${url}/v1/pets`, {
      headers: { ...headers, 'x-gateway-act': 'slow=10s' },
      signal: leave.signal,
    }).catch(() => 'gone'),
  )
  await until(() => upstream?.underWay.count === 3)
  const over = await ask('slow=5ms')
  t.match([over.status, json(over)], [429, { code: 'too_many_at_once' }], 'half of the room is its')
  t.equal(over.headers['x-gateway-acted'], undefined, 'a real one')
  t.equal((await ask('slow=5ms', other.headers)).status, 200, 'others have room')
  leave.abort()
  t.strictSame(await Promise.all(held), ['gone', 'gone', 'gone'])
  await until(() => upstream?.underWay.count === 0)
  t.equal((await ask('slow=5ms')).status, 200)
})

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`ten thousand acts change nothing but the metrics of test keys: ${kind}`, async (t) => {
    const redis = kind === 'redis' && (await startRedis(t))
    const clock = () => noon
    const { gateway, ask } = await startAdmin(t, {
      ...{ clock, more: `${deprecations}${strict}` },
      ...(redis ? { store: `redis: "${redis.url}"`, storeClock: clock } : {}),
    })
    const { call, key, app, stores, upstream } = gateway
    const { headers, key: one } = await key({ test: true, account: 'tests' })
    t.equal((await call('GET', '/v1/pets', undefined, headers)).status, 200)
    const state = async () => {
      await app.core.tallying.flush()
      const day = Math.floor(noon / 86_400_000)
      const listed = async <Item>(items: AsyncIterable<Item>) => {
        const all: Item[] = []
        for await (const item of items) all.push(item)
        return all
      }
      const { text } = await ask('GET', '/metrics')
      return {
        quota: json(await ask('GET', `/admin/quota/${one.id}`)),
        bans: await stores.quota.bans(),
        tallies: await listed(stores.tallies.list(day, day)),
        peaks: await listed(stores.peaks.list(day, day)),
        timeline: await stores.timeline.list(one.id, 0, noon),
        strangers: app.core.strangers.stand('127.0.0.1'),
        metrics: text
          .split('\n')
          .filter((line) =>
            /^tollgate_(?:requests|refusals|strangers|bans|shadow|deprecated|request_d)/.test(line),
          )
          .filter((line) => !line.includes('plan="test"')),
      }
    }
    const before = await state()
    const wishes = actNames.map((name) => (name === 'slow' ? 'slow=1ms' : name))
    let sent = 0
    const flow = async (): Promise<void> => {
      while (sent < 10_000) {
        const wish = wishes[sent++ % wishes.length] ?? ''
        const answer = await call('GET', '/v1/pets', undefined, {
          ...headers,
          'x-gateway-act': wish,
        })
        if (answer.headers['x-gateway-acted'] !== wish) t.fail(`${wish}: ${answer.text}`)
      }
    }
    await Promise.all(Array.from({ length: 24 }, flow))
    t.strictSame(await state(), before)
    t.equal(upstream.seen.length, 1)
    const { text } = await ask('GET', '/metrics')
    t.match(text, /tollgate_refusals_total\{plan="test",reason="bad_gateway",window=""\} 6\d\d/)
    t.notMatch(text, /plan="free".*\} [1-9]/, 'its real requests are those of a test key, too')
  })
}

t.test('clients that honour Retry-After meet an acted 429 as a real one', async (t) => {
  // The minute of the gateway's clock ends soon, so that no wait is longer.
  const started = Date.now()
  const { url, key } = await startGateway(t, { clock: () => noon + 58_500 + Date.now() - started })
  const ways = ['acted', 'real'] as const
  const tries = await Promise.all(
    ways.flatMap((way) =>
      (['got', 'ky'] as const).map(async (client) => {
        const { headers } = await key({ limits: { perMinute: 1 }, test: true })
        if (way === 'real') await caller(url)('GET', '/v1/pets', undefined, headers)
        const wish = way === 'acted' ? { 'x-gateway-act': 'minute' } : {}
        let retries = 0
        const sent = { ...headers, ...wish }
        if (client === 'got') {
          const answer = await got(`${url}/v1/pets`, {
            headers: sent,
            hooks: {
              beforeRetry: [
                ({ options }) => {
                  retries++
                  delete options.headers['x-gateway-act']
                },
              ],
            },
          })
          return [answer.statusCode, retries]
        }
        const answer = await ky(`${url}/v1/pets`, {
          headers: sent,
          hooks: {
            beforeRetry: [
              ({ request }) => {
                retries++
                request.headers.delete('x-gateway-act')
              },
            ],
          },
        })
        return [answer.status, retries]
      }),
    ),
  )
  t.strictSame(
    tries,
    ways.flatMap(() => [
      [200, 1],
      [200, 1],
    ]),
  )
})
