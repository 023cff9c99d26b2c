import { byLimit } from '../../../shared/windows.ts'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { actNames } from '../../../gateway/front/acts/wish.ts'
import { startAdmin } from '../../support/admin.ts'
import { deprecations, noon, startStage, strict, wishOf } from '../../support/acts.ts'
import { json } from '../../support/http.ts'
import { root } from '../../support/process.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

/** All acts, none of which takes long. */
const wishes = actNames.map((name) => (name === 'slow' ? 'slow=1ms' : name))

t.test('a wish that nobody can act is refused, and says why', async (t) => {
  const { call, key, upstream } = await startStage(t, { more: `headers: { near: [] }\n${strict}` })
  const limits = { perMinute: 'unlimited', perDay: 'unlimited' } as const
  const { headers } = await key({ limits, test: true })
  const ask = (wish: string, path = '/v1/pets') =>
    call('GET', path, undefined, { ...headers, 'x-gateway-act': wish })
  const all = `${actNames.slice(0, -1).join(', ')}, slow=3s (up to 10s)`
  for (const wish of [
    'fortnight',
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
    ['hour', /no limit an hour/],
    ['day', /no limit a day/],
    ['week', /no limit a week/],
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
    more: `tickets: on
portal: { path: /docs, openapi: ${join(root, 'config/openapi/animal-store.yaml')} }\n${strict}`,
  })
  const { headers } = await key({ test: true })
  for (const [method, path] of [
    ['POST', '/v1/quota'],
    ['DELETE', '/v1/usage'],
    ['GET', '/v1/ticket'],
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

t.test(
  'acts are the same whatever the real state of the key, and the store has it still',
  async (t) => {
    const { call, key, pass, server, upstream } = await startStage(t, {
      routes: '[ { path: /v1/*, upstream: animals, methods: [ GET, POST ], bodyLimit: 1B } ]',
    })
    const { headers } = await key({ limits: { perMinute: 1 }, paths: ['/v1/*'], test: true })
    const ask = (path: string, wish: string, method = 'GET', body?: string) =>
      call(method, path, body, { ...headers, 'x-gateway-act': wish })
    const isActed = async (when: string) => {
      for (const [path, method, body] of [
        ['/v1/pets', 'GET', undefined],
        ['/nowhere', 'GET', undefined],
        ['/v1/pets', 'PUT', undefined],
        ['/v1/gone', 'GET', undefined],
        ['/v1/pets', 'POST', 'long'],
      ] as const) {
        const answer = await ask(path, 'bad_gateway', method, body)
        t.match(
          answer,
          { status: 502, headers: { 'x-gateway-acted': 'bad_gateway' } },
          `${when}: ${path}`,
        )
        const used = await ask(path, 'minute', method, body)
        t.match(json(used), { code: 'rate_limit_exceeded' }, `${when}: ${path}`)
      }
    }
    await isActed('fresh')
    for (let i = 0; i < 3; i++) await call('GET', '/v1/pets', undefined, (pass(1), headers))
    await isActed('banned')
    t.match(json(await call('GET', '/v1/pets', undefined, headers)), { code: 'key_banned' })
    t.equal(upstream.seen.length, 1, 'the one request that was let in')
    server.closeAllConnections()
  },
)

t.test('slow takes no room of others, and ends when its caller leaves', async (t) => {
  const { call, key, app, url, server } = await startStage(t, { upstreamMore: 'maxInFlight: 2' })
  const { headers } = await key({ test: true })
  const leave = new AbortController()
  const held = [1, 2, 3].map(() =>
    fetch(`${url}/v1/pets`, {
      headers: { ...headers, 'x-gateway-act': 'slow=10s' },
      signal: leave.signal,
    }).catch(() => 'gone'),
  )
  await until(() => app.underWay === 3)
  t.equal((await call('GET', '/v1/pets', undefined, headers)).status, 200)
  leave.abort()
  t.strictSame(await Promise.all(held), ['gone', 'gone', 'gone'])
  await until(() => app.underWay === 0)
  server.closeAllConnections()
})

/** Asks for all acts again and again on one connection, without waiting for answers, and checks what is acted. */
async function actOften(t: Test, url: string, authorization: string, rounds: number) {
  // A connection ends with its hundredth unanswered request.
  const acts = [1, 2, 3].flatMap(() => wishes)
  const requests = acts.map(
    (wish) =>
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nX-Gateway-Act: ${wish}\r\n\r\n`,
  )
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setEncoding('latin1')
  socket.write(requests.join(''))
  let text = ''
  let sent = 1
  for await (const some of socket) {
    text += String(some)
    const acted = [...text.matchAll(/^x-gateway-acted: (.*)\r$/gm)].map(([, act]) => act)
    if (acted.length < acts.length) continue
    if (acted.join() !== acts.join()) t.fail(text)
    text = ''
    if (sent === rounds) break
    sent++
    socket.write(requests.join(''))
  }
  t.equal(sent, rounds)
}

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`ten thousand acts change nothing but the metrics of test keys: ${kind}`, async (t) => {
    const redis = kind === 'redis' && (await startRedis(t))
    const clock = () => noon
    const { gateway, ask } = await startAdmin(t, {
      ...{ clock, more: `${deprecations}${strict}` },
      ...(redis ? { store: `redis: "${redis.url}"`, storeClock: clock } : {}),
    })
    const { call, key, app, stores, upstream } = gateway
    const { headers, key: one } = await key({
      test: true,
      account: 'tests',
      limits: {
        ...byLimit(() => 100_000),
        perMonth: { limit: 100_000, beyond: 'prepaid' },
        atOnce: 1_000,
      },
    })
    t.equal((await call('GET', '/v1/pets', undefined, headers)).status, 200)
    const state = async () => {
      await app.front.flushCounts()
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
        strangers: app.front.strangers.standing('127.0.0.1').decision,
        metrics: text
          .split('\n')
          .filter((line) =>
            /^tollgate_(?:requests|refusals|strangers|bans|shadow|deprecated|request_d)/.test(line),
          )
          .filter((line) => !line.includes('plan="test"')),
      }
    }
    const before = await state()
    const connections = Array.from({ length: 8 }, () =>
      actOften(t, gateway.url, headers.authorization, Math.ceil(10_000 / (8 * 3 * wishes.length))),
    )
    await Promise.all(connections)
    t.strictSame(await state(), before)
    t.equal(upstream.seen.length, 1)
    const { text } = await ask('GET', '/metrics')
    t.match(
      text,
      /tollgate_refusals_total\{plan="test",reason="bad_gateway",window="",operation=""\} [45]\d\d/,
    )
    t.notMatch(text, /plan="free".*\} [1-9]/, 'its real requests are those of a test key, too')
  })
}
