import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { json, raw, type Answer } from '../support/http.ts'
import { hashOf, newKeyId, newToken } from '../../gateway/keys/token.ts'
import { QuotaDesk } from '../../gateway/operations/quota-desk.ts'
import { newKey } from '../contracts/keys.ts'
import { latestDays } from '../../gateway/records/usage.ts'
import type { Stores } from '../../gateway/stores/stores.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const noon = Date.UTC(2026, 5, 15, 12, 0, 10)
const inOneMinute = noon / 1000 + 50
const midnight = Date.UTC(2026, 5, 16) / 1000

function rate(answer: Answer): (number | undefined)[] {
  return ['limit', 'remaining', 'reset'].map((name) => {
    const value = answer.headers[`x-ratelimit-${name}`]
    return value === undefined ? undefined : Number(value)
  })
}

function isRefused(
  t: Test,
  answer: Answer,
  code: string,
  sentence: RegExp,
  retryAfter: number,
): void {
  t.equal(answer.status, 429)
  t.match(json(answer), { code, message: sentence, status: 429 })
  t.equal(answer.headers['retry-after'], String(retryAfter))
  t.equal(answer.headers['cache-control'], 'no-store')
}

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
  isRefused(
    t,
    refused,
    'rate_limit_exceeded',
    /^3 requests a minute are used up\. Try again in 50 seconds\.$/,
    50,
  )
  now += 49_001
  isRefused(t, await ask(), 'rate_limit_exceeded', /Try again in 1 second\./, 1)
  now = noon + 50_000
  t.strictSame(rate(await ask()), [5, 1, midnight], 'the day has fewer left')
  t.strictSame(rate(await ask()), [5, 0, midnight])
  const seconds = midnight - now / 1000
  isRefused(t, await ask(), 'rate_limit_exceeded', /^5 requests a day are used up/, seconds)
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

t.test('every answer carries each header once, from the gateway alone', async (t) => {
  const lying = {
    'X-RateLimit-Limit': '777',
    'x-ratelimit-remaining': '8',
    'X-RateLimit-Reset': '9',
    RateLimit: 'x',
    'RateLimit-Policy': 'x',
    'X-RateLimit-Notice': 'day; used=99',
  }
  const upstream = await startUpstream(t, (request, response) => {
    const status = Number(/\/(\d{3})/.exec(request.url ?? '')?.[1] ?? 200)
    response.writeHead(status, { ...lying, 'Retry-After': '99', 'X-Request-Id': 'theirs' })
    response.end(status === 204 || status === 304 ? undefined : '{}')
  })
  const { key, url } = await startGateway(t, {
    upstream,
    more: 'strangers: { perMinute: 7, perDay: 1000 }',
  })
  const { token } = await key({ limits: { perMinute: 16, perDay: 1_000 } })
  const [restricted, spare] = [await key({ paths: ['/v1/nothing'] }), await key()]
  const as = (token: string) => `Authorization: Bearer ${token}\r\n`
  const ask = (line: string, headers = '', body = '') =>
    raw(url, `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n${body}`)
  const cases: [string, Promise<string>, number][] = []
  for (const status of [200, 204, 304, 400, 404, 405, 413, 415, 429, 500, 502, 503, 504]) {
    cases.push([`the backend's ${status}`, ask(`GET /v1/${status}`, as(token)), status])
  }
  cases.push(['HEAD', ask('HEAD /v1/200', as(token)), 200])
  cases.push(['no route', ask('GET /nowhere', as(token)), 404])
  cases.push(['a method that no route has', ask('PROPFIND /v1/pets', as(token)), 405])
  for (const [, asked] of cases) await asked
  cases.push(['one too many', ask('GET /v1/200', as(token)), 429])
  cases.push(['forbidden', ask('GET /v1/200', as(restricted.token)), 403])
  cases.push(['no key', ask('GET /v1/200'), 401])
  cases.push([
    'no host',
    raw(url, `GET /v1/200 HTTP/1.1\r\nConnection: close\r\n${as(token)}\r\n`),
    400,
  ])
  cases.push([
    'what cannot be expected',
    ask('GET /v1/200', `${as(spare.token)}Expect: the-unexpected\r\n`),
    200,
  ])
  const text = `${as(spare.token)}Content-Type: text/plain\r\nContent-Length: 2000000\r\n`
  cases.push(['a text that is too large', ask('POST /v1/200', text, 'x'.repeat(2_000_000)), 413])
  cases.push(['a malformed URL', ask('GET /v1/%zz', as(token)), 400])
  cases.push([
    'a malformed header',
    raw(url, 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n'),
    400,
  ])
  cases.push([
    'headers that are too large',
    raw(url, `GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`),
    431,
  ])
  for (const [name, asked, status] of cases) {
    const answer = await asked
    const head = answer.slice(0, answer.indexOf('\r\n\r\n'))
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), name)
    for (const header of [
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'x-request-id',
    ]) {
      t.equal(
        [...head.matchAll(new RegExp(`^${header}: \\S+\\r?$`, 'gim'))].length,
        1,
        `${name}: ${header}`,
      )
    }
    t.notMatch(
      head,
      /x-ratelimit-limit: 777\r|^ratelimit|x-request-id: theirs/im,
      `${name}: nothing of the backend's`,
    )
    if (status < 400) t.notMatch(head, /retry-after/i, name)
    if (name === "the backend's 429")
      t.match(head, /retry-after: 99/i, 'its own Retry-After passes on an error')
  }
  t.match(await ask('GET /v1/200'), /^HTTP\/1\.1 401/)
  t.match(await ask('GET /v1/200'), /^HTTP\/1\.1 401/)
  t.match(
    await ask('GET /v1/%zz'),
    /^HTTP\/1\.1 429 [^]*too_many_failed_attempts/,
    'malformed ones were counted, too',
  )
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
    await app.core.tallying.flush()
    const { fromDay, toDay } = latestDays(2, Date.now())
    for (const { key: each } of [daily, restricted, elsewhere]) {
      const done: string[] = []
      for await (const { what } of stores.tallies.list(fromDay, toDay, each.id)) done.push(what)
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

t.test('bans', async (t) => {
  t.test(
    'a loop that ignores its refusals is banned at the strike that is written down',
    async (t) => {
      let now = noon
      const { call, key, stores } = await startGateway(t, { clock: () => now })
      const { headers, key: record } = await key({ limits: { perMinute: 2, perDay: 100 } })
      const ask = () => call('GET', '/v1/pets', undefined, headers)
      await ask()
      await ask()
      const codes: unknown[] = []
      t.equal(json(await ask())['code'], 'rate_limit_exceeded', 'the episode begins')
      now += 1_001
      for (let i = 0; i < 25; i++) codes.push(json(await ask())['code'])
      t.equal(codes.indexOf('key_banned'), 19, 'the twentieth strike')
      const banned = await ask()
      const until = Math.ceil((now + 300_000) / 1000)
      t.strictSame(rate(banned), [2, 0, until])
      isRefused(
        t,
        banned,
        'key_banned',
        /is banned: 20 requests within 60 seconds came .* Try again in 301 seconds,/,
        301,
      )
      const view = json(await call('GET', '/v1/quota', undefined, headers))
      t.match(view, {
        plan: 'free',
        bannedUntil: until,
        strikes: 0,
        minute: { limit: 2, remaining: 0 },
      })
      t.match(await stores.quota.bans(), [{ key: record.id, untilMs: now + 300_000 }])
      now += 300_000
      t.equal((await ask()).status, 200, 'and works again when it ends')
    },
  )

  t.test('two hundred at once, then silence, are none', async (t) => {
    const { call, key } = await startGateway(t, { clock: () => noon })
    const { headers } = await key()
    const all = await Promise.all(
      Array.from({ length: 200 }, () => call('GET', '/v1/pets', undefined, headers)),
    )
    const counts = [200, 429].map(
      (status) => all.filter((answer) => answer.status === status).length,
    )
    t.strictSame(counts, [60, 140])
    t.match(json(await call('GET', '/v1/quota', undefined, headers)), {
      bannedUntil: null,
      strikes: 0,
    })
  })

  t.test('a client that waits as long as told is let in, whenever it asks', async (t) => {
    let now = noon
    const { call, key } = await startGateway(t, { clock: () => Math.floor(now) })
    const { headers } = await key({ limits: { perMinute: 4, perDay: 40 } })
    let seed = 7
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
    let waits = 0
    while (waits < 200) {
      now += random() * 20_000
      const answer = await call('GET', '/v1/pets', undefined, headers)
      if (answer.status === 200) continue
      t.match(json(answer), { code: 'rate_limit_exceeded' })
      now = Math.floor(now) + Number(answer.headers['retry-after']) * 1000
      const after = await call('GET', '/v1/pets', undefined, headers)
      if (after.status !== 200) t.fail(`wait ${waits}: ${after.text}`)
      waits++
    }
    t.pass('two hundred times')
  })

  t.test('are off for a plan that says so', async (t) => {
    let now = noon
    const more = 'plans: { free: { perMinute: 1, perDay: 100, bans: off } }\nbans: { strikes: 1 }'
    const { call, key } = await startGateway(t, { clock: () => now, more })
    const { headers } = await key()
    for (let i = 0; i < 5; i++) {
      now += 2_000
      const { status, text } = await call('GET', '/v1/pets', undefined, headers)
      if (i > 0) t.match([status, text], [429, /rate_limit_exceeded/])
    }
  })
})

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

t.test('the IETF’s fields are sent where they are wanted', async (t) => {
  const { call, key } = await startGateway(t, {
    clock: () => noon,
    more: 'headers: { ietf: true }',
  })
  const { headers } = await key()
  const answer = await call('GET', '/v1/pets', undefined, headers)
  t.equal(answer.headers['ratelimit-policy'], '"minute";q=60;w=60, "day";q=1000;w=86400')
  t.equal(answer.headers['ratelimit'], '"minute";r=59;t=50')
})

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`a day near its end is told from the exact request on: ${kind}`, async (t) => {
    let now = noon
    const clock = () => now
    const redis = kind === 'redis' && (await startRedis(t))
    const store = redis ? { store: `redis: "${redis.url}"`, storeClock: clock } : {}
    const upstream = await startUpstream(t, ({ url }, response) => {
      if (url === '/v1/broken') return void response.destroy()
      response.writeHead(200, { 'X-RateLimit-Notice': 'day; used=1' }).end()
    })
    const { call, key, stores } = await startGateway(t, {
      ...{ clock, upstream, ...store },
      more: 'headers: { near: [95, 80] }\nbans: { strikes: 1, grace: 0s }',
    })
    const noticeOf = async (headers: Record<string, string>, target = '/v1/pets') =>
      (await call('GET', target, undefined, headers)).headers['x-ratelimit-notice']
    const quotaOf = async (headers: Record<string, string>) =>
      json(await call('GET', '/v1/quota', undefined, headers))['notice']
    const limits = { perMinute: 'unlimited', perDay: 7 } as const
    const one = await key({ limits, account: 'acme' })
    const other = await key({ limits, account: 'acme' })
    for (let used = 1; used < 6; used++) t.equal(await noticeOf(one.headers), undefined, `${used}`)
    t.equal(await quotaOf(one.headers), null)
    t.equal(await noticeOf(other.headers), 'day; used=85', 'the sixth of seven, of the account')
    t.strictSame(await quotaOf(one.headers), { window: 'day', used: 85 })
    t.equal(await noticeOf(one.headers, '/v1/quota'), 'day; used=85')
    t.equal(await noticeOf(one.headers, '/v1/broken'), 'day; used=100', 'counted when it was sent')
    await until(async () => JSON.stringify(await quotaOf(one.headers)).includes('85'))
    await stores.quota.grant('account:acme', { perMinute: 0, perDay: 1, by: 'eve' })
    t.equal(await noticeOf(one.headers), 'day; used=87', 'of what was granted, too')
    await noticeOf(one.headers)
    const refused = await call('GET', '/v1/pets', undefined, one.headers)
    t.match([refused.status, refused.headers['x-ratelimit-notice']], [429, 'day; used=100'])
    now += 5_000
    const banned = await call('GET', '/v1/pets', undefined, one.headers)
    t.match(json(banned), { code: 'key_banned' })
    t.equal(banned.headers['x-ratelimit-notice'], undefined, 'a ban is told alone')

    const free = await key({ limits: { perMinute: 'unlimited', perDay: 'unlimited' } })
    for (let i = 0; i < 9; i++) t.equal(await noticeOf(free.headers), undefined)
    t.equal(await noticeOf({}), undefined, 'strangers have no day of their own')
    now = midnight * 1000
    t.equal(await noticeOf(other.headers), undefined, 'the next day begins without')
  })
}

t.test('near: [] ends notices', async (t) => {
  const { call, key } = await startGateway(t, { more: 'headers: { near: [] }' })
  const { headers } = await key({ limits: { perMinute: 9, perDay: 1 } })
  for (const target of ['/v1/pets', '/v1/pets', '/v1/quota']) {
    const answer = await call('GET', target, undefined, headers)
    t.equal(answer.headers['x-ratelimit-notice'], undefined)
  }
  t.equal(json(await call('GET', '/v1/quota', undefined, headers))['notice'], null)
})

t.test('GET /v1/quota costs nothing, never counts, and needs a key', async (t) => {
  const { call, key, upstream } = await startGateway(t, { clock: () => noon })
  const { headers } = await key({ limits: { perMinute: 5, perDay: 'unlimited' } })
  for (let i = 0; i < 20; i++) await call('GET', '/v1/quota', undefined, headers)
  const { text } = await call('GET', '/v1/quota', undefined, headers)
  t.equal(
    text,
    `{"plan":"free","minute":{"limit":5,"remaining":5,"reset":${inOneMinute}},"day":null,"strikes":0,"bannedUntil":null,"strikesToBan":20,"notice":null}`,
  )
  t.equal((await call('GET', '/v1/quota')).status, 401)
  t.equal(upstream.seen.length, 0)
})

t.test('a ban goes with its key to another account, and is lifted there', async (t) => {
  const { call, key, desk, stores, config } = await startGateway(t)
  const { headers, key: record } = await key()
  const status = async () => (await call('GET', '/v1/pets', undefined, headers)).status
  const bans = new QuotaDesk({
    plans: config.plans,
    keys: stores.keys,
    quota: stores.quota,
    clock: Date.now,
  })
  await bans.ban(record.id, 60_000)
  t.equal(await status(), 429)
  await desk.edit(record.id, desk.changing({ account: 'other' }))
  t.equal(await status(), 429)
  await bans.lift(record.id)
  t.equal(await status(), 200)
})

t.test('a banned key without limits is told when its ban ends', async (t) => {
  const { call, key, stores } = await startGateway(t, { clock: () => noon })
  const { headers, key: record } = await key({
    limits: { perMinute: 'unlimited', perDay: 'unlimited' },
  })
  await stores.quota.ban(`key:${record.id}`, record.id, noon + 3_600_000)
  t.match(await call('GET', '/v1/pets', undefined, headers), {
    status: 429,
    headers: { 'retry-after': '3600' },
  })
})

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
  const local = await broken('local')
  t.strictSame([count(local, 200), count(local, 429)], [60, 10], 'local: counted by this gateway')
  t.equal(count(await broken('allow'), 200), 70, 'allow: let through')
  const denied = await broken('deny')
  t.equal(count(denied, 503), 70, 'deny: 503')
  for (const { headers } of [...local, ...denied]) {
    if (headers['x-ratelimit-limit'] !== '60') t.fail('the headers stay')
  }
})

t.test('a connection on which nonsense came is not kept', async (t) => {
  const { url, server } = await startGateway(t)
  const { hostname, port } = new URL(url)
  const open = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))
  // A client that reads the answer and then never hangs up.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined).resume()
  socket.write('nonsense\r\n\r\n')
  await new Promise((resolve) => socket.once('end', resolve))
  await until(async () => (await open()) === 0, 3_000)
  t.pass('after a moment')
})

t.test('what is for one connection alone stays on it', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, {
      Connection: 'keep-alive',
      'Keep-Alive': 'timeout=77',
      Server: 'x',
      'X-Powered-By': 'y',
    })
    response.end('{}')
  })
  const { url, key } = await startGateway(t, { upstream })
  const { token } = await key()
  const ask = (more: string) =>
    raw(
      url,
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`,
    )
  for (const more of ['', 'Keep-Alive: timeout=5\r\n', 'Upgrade: foo\r\n', 'TE: trailers\r\n']) {
    const started = performance.now()
    const answer = await ask(more)
    t.match(answer, /^HTTP\/1\.1 200/, more)
    t.notMatch(answer, /timeout=77|^server:|x-powered-by/im)
    t.ok(performance.now() - started < 4_500, 'the connection ends when its caller wants it to')
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

t.test(
  'caches keep answers for different origins apart, and what else a backend says',
  async (t) => {
    const vary: Record<string, string | string[]> = {
      '/v1/language': 'Accept-Language',
      '/v1/two': ['Accept-Language', 'Accept-Encoding'],
      '/v1/origin': 'accept, origin',
      '/v1/other': 'X-Origin',
      '/v1/all': '*',
    }
    const upstream = await startUpstream(t, ({ url = '' }, response) => {
      const said = vary[url]
      if (said !== undefined) response.setHeader('vary', said)
      response.end('{}')
    })
    const startWith = async (origins: string) => {
      const more = `cors: { origins: ${origins} }`
      const { call, key } = await startGateway(t, { upstream, more, store: 'file: ":memory:"' })
      const { headers } = await key()
      return async (path: string, origin?: string, authorized = true) => {
        const sent = { ...(authorized ? headers : {}), ...(origin ? { origin } : {}) }
        return (await call('GET', path, undefined, sent)).headers['vary']
      }
    }
    const varyOf = await startWith('[ "https://app.example" ]')
    for (const origin of ['https://app.example', 'https://evil.example', undefined]) {
      t.equal(await varyOf('/v1/language', origin), 'Accept-Language, Origin', String(origin))
      t.equal(await varyOf('/v1/two', origin), 'Accept-Language, Accept-Encoding, Origin')
      t.equal(await varyOf('/v1/origin', origin), 'accept, origin')
      t.equal(await varyOf('/v1/other', origin), 'X-Origin, Origin')
      t.equal(await varyOf('/v1/all', origin), '*')
      t.equal(await varyOf('/v1/none', origin), 'Origin')
      t.equal(await varyOf('/v1/none', origin, false), 'Origin', 'a refusal')
    }
    for (const origins of ['[ "*" ]', '[]']) {
      const varyOf = await startWith(origins)
      t.equal(await varyOf('/v1/language', 'https://app.example'), 'Accept-Language', origins)
      t.equal(await varyOf('/v1/none', 'https://app.example'), undefined, origins)
    }
  },
)

t.test('pages of origins that are configured may ask, from browsers', async (t) => {
  const { call, key, upstream } = await startGateway(t, {
    more: 'cors: { origins: [ "https://app.example" ] }\nstrangers: { perMinute: 5, perDay: 1000 }',
  })
  const { headers } = await key()
  const asking = { 'access-control-request-method': 'POST' }
  const ask = (origin: string) =>
    call('OPTIONS', '/v1/pets', undefined, {
      origin,
      ...asking,
      'access-control-request-headers': 'authorization, content-type',
    })
  for (let i = 0; i < 10; i++) {
    t.match(await ask('https://app.example'), {
      status: 204,
      text: '',
      headers: {
        'access-control-allow-origin': 'https://app.example',
        'access-control-allow-methods': /POST/,
        'access-control-allow-headers': 'authorization, content-type',
        'x-ratelimit-remaining': '5',
        vary: 'Origin',
      },
    })
  }
  t.equal(upstream.seen.length, 0, 'the backend is not asked')
  t.match(await ask('https://evil.example'), { status: 401, headers: { vary: 'Origin' } })
  const answer = await call('GET', '/v1/pets', undefined, {
    ...headers,
    origin: 'https://app.example',
  })
  t.match(answer, {
    status: 200,
    headers: {
      'access-control-allow-origin': 'https://app.example',
      'access-control-expose-headers': /X-RateLimit-Remaining.*Retry-After/,
    },
  })
  const refused = await call('GET', '/v1/pets', undefined, { origin: 'https://app.example' })
  t.match(refused, {
    status: 401,
    headers: { 'access-control-allow-origin': 'https://app.example' },
  })
  const other = await call('GET', '/v1/pets', undefined, {
    ...headers,
    origin: 'https://evil.example',
  })
  t.equal(other.headers['access-control-allow-origin'], undefined)
  const open = await startGateway(t, {
    more: 'cors: { origins: [ "*" ] }',
    store: 'file: ":memory:"',
  })
  const anyone = await open.call('GET', '/v1/pets', undefined, { origin: 'https://x' })
  t.equal(anyone.headers['access-control-allow-origin'], '*')
  const closed = await startGateway(t, { store: 'file: ":memory:"' })
  const none = await closed.call('OPTIONS', '/v1/x', undefined, { origin: 'https://x', ...asking })
  t.match(none, { status: 401, headers: { 'access-control-allow-origin': undefined } })
})

/** Makes a store wait with its decisions until they are released. */
function holdDecisions({ quota }: Stores): { asked: () => number; release: () => void } {
  const decide = quota.decide.bind(quota)
  let asked = 0
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  quota.decide = async (name, ask) => {
    asked++
    await held
    return decide(name, ask)
  }
  return { asked: () => asked, release }
}

t.test('a ban that was decided by one configuration is told with its rules', async (t) => {
  let now = noon
  const gateway = await startGateway(t, {
    clock: () => now,
    more: 'bans: { strikes: 1, grace: 0s }',
  })
  const { headers } = await gateway.key({ limits: { perMinute: 1 } })
  const ask = () => gateway.call('GET', '/v1/pets', undefined, headers)
  t.equal((await ask()).status, 200)
  t.match(json((await ask()).text), { code: 'rate_limit_exceeded' })
  now += 1
  const { asked, release } = holdDecisions(gateway.stores)
  const before = ask()
  await until(() => asked() === 1)
  const { plans } = gateway.config
  const [free] = [...plans.values()]
  if (!free) throw new Error('there is a plan')
  const unbanned = new Map([...plans, ['free', { ...free, bans: false }]])
  await gateway.app.change({ ...gateway.config, plans: unbanned })
  const after = ask()
  await until(() => asked() === 2)
  release()
  t.match(json((await before).text), { message: /^Your key is banned: a request came after a 429/ })
  t.match(json((await after).text), { message: /^Your key was banned by an operator\. / })
})

t.test('what was decided by one configuration is told with its limits', async (t) => {
  const gateway = await startGateway(t, { clock: () => noon })
  const { headers } = await gateway.key()
  const { asked, release } = holdDecisions(gateway.stores)
  const ask = () => gateway.call('GET', '/v1/pets', undefined, headers)
  const before = ask()
  await until(() => asked() === 1)
  const { plans } = gateway.config
  const [free] = [...plans.values()]
  if (!free) throw new Error('there is a plan')
  const less = { ...free, limits: { perMinute: 10, perDay: 20 } }
  await gateway.app.change({ ...gateway.config, plans: new Map([...plans, ['free', less]]) })
  const after = ask()
  await until(() => asked() === 2)
  release()
  const told = (await Promise.all([before, after])).map((answer) => [
    answer.headers['x-ratelimit-limit'],
    answer.headers['x-ratelimit-remaining'],
  ])
  t.strictSame(told, [
    ['60', '59'],
    ['10', '8'],
  ])
})
