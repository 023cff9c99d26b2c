import { connect } from 'node:net'
import t from 'tap'
import { hashOf, newKeyId, newToken } from '../../../gateway/front/keys/token.ts'
import { latestDays } from '../../../gateway/front/counts/usage.ts'
import { newKey } from '../../contracts/keys.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json, raw, type Answer } from '../../support/http.ts'
import { rate } from '../../support/rates.ts'
import { startRedis } from '../../support/redis.ts'
import { isOverLimit } from '../../support/refusals.ts'
import { until } from '../../support/until.ts'

const noon = Date.UTC(2026, 5, 15, 12, 0, 10)
const inOneMinute = noon / 1000 + 50
const midnight = Date.UTC(2026, 5, 16) / 1000

t.test('the headers tell of the window that stops a caller first', async (t) => {
  let now = noon
  const { call, key } = await startGateway(t, { clock: () => now })
  const { headers } = await key({ limits: { perMinute: 3, perDay: 5 } })
  const ask = () => call('GET', '/v1/pets', undefined, headers)
  t.strictSame(rate(await ask()), [3, 2, inOneMinute])
  await ask()
  t.strictSame(rate(await ask()), [3, 0, inOneMinute])
  const refused = await ask()
  t.strictSame(rate(refused), [3, 0, inOneMinute])
  isOverLimit(
    t,
    refused,
    'rate_limit_exceeded',
    /^3 requests a minute are used up\. Try again at 12:01:00 UTC \(50 s\)\.$/,
    50,
  )
  now += 49_001
  isOverLimit(t, await ask(), 'rate_limit_exceeded', /Try again at 12:01:00 UTC \(1 s\)\./, 1)
  now = noon + 50_000
  t.strictSame(rate(await ask()), [5, 1, midnight], 'the day has fewer left')
  t.strictSame(rate(await ask()), [5, 0, midnight])
  const seconds = midnight - now / 1000
  isOverLimit(
    t,
    await ask(),
    'rate_limit_exceeded',
    /^5 requests a day are used up\. Try again at 2026-06-16 00:00:00 UTC \(11 h 59 min\)\./,
    seconds,
  )
  now += seconds * 1000
  t.equal((await ask()).status, 200, 'who waits as long as told is let in')
})

t.test('on a tie the later window is told; one without a limit never is', async (t) => {
  const { call, key } = await startGateway(t, { clock: () => noon })
  const told = async (perMinute: number | 'unlimited', perDay: number | 'unlimited') => {
    const { headers } = await key({ limits: { perMinute, perDay } })
    return rate(await call('GET', '/v1/pets', undefined, headers))
  }
  t.strictSame(await told(5, 5), [5, 4, midnight])
  t.strictSame(await told('unlimited', 9), [9, 8, midnight])
  t.strictSame(await told(9, 'unlimited'), [9, 8, inOneMinute])
  t.strictSame(await told('unlimited', 'unlimited'), [undefined, undefined, undefined])
  const both = await key({ limits: { perMinute: 1, perDay: 1 } })
  await call('GET', '/v1/pets', undefined, both.headers)
  t.strictSame(rate(await call('GET', '/v1/pets', undefined, both.headers)), [1, 0, midnight])
})

t.test('a request that cannot be answered gives the day its point back', async (t) => {
  const upstream = { url: 'http://127.0.0.1:1', seen: [] }
  const { call, key } = await startGateway(t, { upstream, clock: () => noon })
  const { headers } = await key({ limits: { perMinute: 10, perDay: 5 } })
  const answer = await call('GET', '/v1/pets', undefined, headers)
  t.match(answer, {
    status: 502,
    text: '{"code":"bad_gateway","message":"The backend could not be reached.","status":502}',
  })
  t.strictSame(rate(answer), [5, 4, midnight])
  const { minute, day } = json(await call('GET', '/v1/quota', undefined, headers))
  t.match(
    [minute, day],
    [
      { limit: 10, remaining: 9 },
      { limit: 5, remaining: 5 },
    ],
  )
})

t.test('routes may cost more, or nothing', async (t) => {
  const more = 'plans: { free: { perMinute: 10, perDay: 100 } }'
  const upstream = await startUpstream(t)
  const { call, key } = await startGateway(t, {
    upstream,
    more: `${more}\n`,
    routes:
      '[ { path: /dear/*, upstream: animals, cost: 4 }, { path: /free/*, upstream: animals, cost: 0 }, { path: /v1/*, upstream: animals } ]',
  })
  const { headers } = await key()
  const ask = (path: string) => call('GET', path, undefined, headers)
  t.equal(rate(await ask('/dear/x'))[1], 6)
  t.equal(rate(await ask('/free/x'))[1], 6)
  t.equal(rate(await ask('/v1/x'))[1], 5)
  t.equal(rate(await ask('/dear/x'))[1], 1)
  const refused = await ask('/dear/x')
  t.equal(refused.status, 429)
  t.equal(rate(refused)[1], 1, 'one is left, which is not enough for four')
  t.equal((await ask('/free/x')).status, 200, 'what costs nothing is not limited')
  t.equal((await ask('/v1/x')).status, 200)
})

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`what costs more than a key may ever have is forbidden: ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const { call, key, app, stores } = await startGateway(t, {
      ...(redis ? { store: `redis: "${redis.url}"` } : {}),
      more: `
plans:
  free: { perMinute: 60, perDay: 1000 }
  daily: { perMinute: 6000, perDay: 1000 }
  pro: { perMinute: 6000, perDay: 60000 }
bans: { strikes: 1, grace: 0s }
`,
      routes:
        '[ { path: /dear, upstream: animals, cost: 5000 }, { path: /fair, upstream: animals, cost: 60 }, { path: /v1/*, upstream: animals } ]',
    })
    const [free, daily, pro] = [
      await key(),
      await key({ plan: 'daily' }),
      await key({ plan: 'pro' }),
    ]
    const restricted = await key({ plan: 'pro', methods: ['POST'] })
    const ask = (path: string, { headers }: typeof free) => call('GET', path, undefined, headers)
    for (let i = 0; i < 5; i++) {
      const answer = await ask('/dear', free)
      t.match(json(answer), {
        code: 'forbidden',
        message: 'This request costs 5,000 points; your limit is 60 a minute.',
        status: 403,
      })
      t.strictSame(rate(answer).slice(0, 2), [60, 60], 'nothing is counted')
      t.equal(answer.headers['retry-after'], undefined)
    }
    const { strikes, bannedUntil } = json(await ask('/v1/quota', free))
    t.strictSame([strikes, bannedUntil], [0, null], 'and no strike is earned')
    t.match(json(await ask('/dear', daily)), {
      message: 'This request costs 5,000 points; your limit is 1,000 a day.',
    })
    t.equal((await ask('/dear', pro)).status, 200)
    t.match(json(await ask('/dear', restricted)), { message: /not for this operation: / })
    const elsewhere = await key({ plan: 'pro', addresses: ['192.0.2.1'] })
    t.match(json(await ask('/dear', elsewhere)), { message: /not for this address: / })
    await app.front.flushCounts()
    const { fromDay, toDay } = latestDays(2, Date.now())
    for (const { key: each } of [daily, restricted, elsewhere]) {
      const done: string[] = []
      for await (const { what } of stores.tallies.list(fromDay, toDay, [each.id])) done.push(what)
      t.strictSame(done, ['refused forbidden'], 'no usage')
    }
    t.equal((await ask('/fair', free)).status, 200, 'a whole minute is not too much')
    t.equal((await ask('/fair', free)).status, 429)
    await until(async () => json(await ask('/fair', free))['code'] === 'key_banned')
    t.equal(json(await ask('/dear', free))['code'], 'key_banned', 'a ban is the better reason')
  })
}

t.test(
  'a changed plan acts on the next request and keeps the count; accounts share one',
  async (t) => {
    const { call, key, desk } = await startGateway(t, { clock: () => noon })
    const mine = await key({ plan: 'free' })
    const ask = (headers: { authorization: string }) => call('GET', '/v1/pets', undefined, headers)
    for (let i = 0; i < 60; i++) await ask(mine.headers)
    t.equal((await ask(mine.headers)).status, 429)
    await desk.edit(mine.key.id, desk.changing({ plan: 'pro' }))
    const first = await ask(mine.headers)
    t.equal(first.status, 200)
    t.strictSame(rate(first).slice(0, 2), [300, 239], '240 were left')

    const [one, two, alone] = [
      await key({ account: 'acme' }),
      await key({ account: 'acme' }),
      await key(),
    ]
    for (let i = 0; i < 30; i++) await Promise.all([ask(one.headers), ask(two.headers)])
    t.strictSame([(await ask(one.headers)).status, (await ask(two.headers)).status], [429, 429])
    t.equal((await ask(alone.headers)).status, 200)
  },
)

t.test(
  'a key that is forbidden to do something is told how it stands, and charged nothing',
  async (t) => {
    const { call, key } = await startGateway(t, { clock: () => noon })
    const { headers } = await key({ methods: ['GET'], limits: { perMinute: 1, perDay: 9 } })
    const forbidden = await call('DELETE', '/v1/pets/1', undefined, headers)
    t.equal(forbidden.status, 403)
    t.strictSame(rate(forbidden), [1, 1, inOneMinute])
    t.equal((await call('GET', '/v1/pets', undefined, headers)).status, 200)
  },
)

t.test('a store that is out of reach', async (t) => {
  const broken = async (whenUnreachable: string) => {
    const gateway = await startGateway(t, {
      store: `redis: "redis://127.0.0.1:1", whenUnreachable: ${whenUnreachable}`,
      clock: () => noon,
    })
    gateway.stores.keys.find = () => ({ key: found, version: 1 })
    const token = newToken(newKeyId())
    const found = newKey({ secrets: [{ hash: hashOf(token) }] })
    const ask = () =>
      gateway.call('GET', '/v1/pets', undefined, { authorization: `Bearer ${token}` })
    return Promise.all(Array.from({ length: 70 }, ask))
  }
  const count = (answers: Answer[], status: number) =>
    answers.filter((answer) => answer.status === status).length
  const [local, allowed, denied] = await Promise.all([
    broken('local'),
    broken('allow'),
    broken('deny'),
  ])
  t.strictSame([count(local, 200), count(local, 429)], [60, 10], 'local: counted by this gateway')
  t.equal(count(allowed, 200), 70, 'allow: let through')
  t.equal(count(denied, 503), 70, 'deny: 503')
  for (const { headers } of [...local, ...denied]) {
    if (headers['x-ratelimit-limit'] !== '60') t.fail('the headers stay')
  }
})

t.test('a refused body is not waited for', async (t) => {
  const { url, key } = await startGateway(t)
  const { token } = await key({ limits: { perMinute: 1, perDay: 9 } })
  const { hostname, port } = new URL(url)
  const post = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 1000000\r\n\r\n{`
  const first = (bytes: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(bytes))
      t.teardown(() => socket.destroy())
      socket.once('data', (data) => resolve(data.toString()))
    })
  await raw(
    url,
    `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
  t.match(await first(post), /^HTTP\/1\.1 429/)
})
