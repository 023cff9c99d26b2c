import t, { type Test } from 'tap'
import { ledgerLines } from '../../../gateway/office/ledger/ledger.ts'
import { dayMs } from '../../../shared/windows.ts'
import { startAdmin } from '../../support/admin.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'

const { url } = await startRedis(t)

const prepaid = (limit: number) => `perMonth: { limit: ${limit}, beyond: prepaid }`

let prefixes = 0

/** A gateway with a plan, and a key of it, in a file or in Redis. */
async function start(t: Test, plan: string, store: 'embedded' | 'redis' = 'embedded', more = '') {
  const upstream = await startUpstream(t, (request, response) => {
    const { 'x-cost': cost, 'x-status': status = '200' } = request.headers
    if (cost !== undefined) response.setHeader('X-Gateway-Cost', String(cost))
    response.writeHead(Number(status)).end('{}')
  })
  const { gateway, ask } = await startAdmin(t, {
    upstream,
    more: `plans: { free: { perMinute: unlimited, ${plan} }, plain: { perDay: 5 }, own: custom }\n${more}`,
    routes:
      '[ { path: /v1/ask, upstream: animals, cost: { estimate: 1, from: answer } }, { path: /v1/*, upstream: animals } ]',
    ...(store === 'redis' ? { store: `redis: "${url}", prefix: "prepaid${++prefixes}:"` } : {}),
  })
  const { headers, key } = await gateway.key({ plan: 'free' })
  const call = (path = '/v1/x', more: Record<string, string> = {}) =>
    gateway.call('GET', path, undefined, { ...headers, ...more })
  const quota = async () => json(await call('/v1/quota'))
  const topUp = async (body: object, id = key.id) => {
    const answer = await ask('POST', `/admin/quota/${id}/top-up`, body)
    return { status: answer.status, ...json(answer) }
  }
  const inLedger = async () => {
    await gateway.app.front.flushCounts()
    const day = Math.floor(Date.now() / dayMs)
    const query = { fromDay: day, toDay: day, by: 'account' } as const
    for await (const { points, beyond } of ledgerLines(gateway.stores, query, Date.now())) {
      return [points, beyond]
    }
    return [0, 0]
  }
  return { gateway, ask, key, call, quota, topUp, inLedger }
}

for (const store of ['embedded', 'redis'] as const) {
  t.test(`${store}, included points are taken first, then what was bought`, async (t) => {
    const { gateway, ask, key, call, quota, topUp, inLedger } = await start(t, prepaid(2), store)
    t.match((await call()).headers, { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' })
    t.match((await call()).headers, { 'x-ratelimit-notice': 'month; used=100' })
    const empty = await call()
    t.match(empty, { status: 429, headers: { 'retry-after': String, 'x-ratelimit-limit': '2' } })
    t.match(
      json(empty)['message'],
      /^2 requests a month are used up, and no bought points are left\. Try again at/,
    )
    const bought = { id: 'invoice-17', points: 3, left: 3, by: 'admin', note: 'paid', again: false }
    t.match(await topUp({ points: 3, id: 'invoice-17', note: 'paid' }), { status: 200, ...bought })
    t.match(await topUp({ points: 3, id: 'invoice-17' }), { ...bought, status: 200, again: true })
    t.match(await topUp({ points: 4, id: 'invoice-17' }), {
      status: 409,
      message: /“invoice-17” was a top-up of 3 points/,
    })
    t.match(await topUp({ take: 4, id: 'c' }), { status: 409, message: /Fewer than 4 .* left: 3/ })
    const month = { limit: 5, remaining: 3, included: 2, beyond: 0, prepaid: { left: 3 } }
    await until(async () => JSON.stringify(await quota()).includes('"left":3'))
    t.match(await quota(), { month })
    const answer = await call()
    t.match(answer, {
      status: 200,
      headers: {
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': '2',
        'x-ratelimit-notice': 'month; beyond=1',
      },
    })
    t.match(await topUp({ take: 1, id: 'credit-1' }), { status: 200, points: -1, left: 1 })
    t.equal((await call()).status, 200)
    t.equal((await call()).status, 429)
    t.match(await quota(), { month: { limit: 4, remaining: 0, beyond: 2, prepaid: { left: 0 } } })
    t.strictSame(await inLedger(), [4, 2])
    t.match(json(await ask('GET', `/admin/quota/${key.id}`)), {
      month: { limit: 4, used: 4, prepaid: { left: 0 } },
    })
    t.match(json(await ask('GET', `/admin/quota/${key.id}/top-ups`)), [
      { id: 'credit-1', points: -1 },
      { id: 'invoice-17', points: 3, left: 3, note: 'paid' },
    ])
    const audit = await gateway.stores.audit.list({ fromMs: 0, limit: 9, what: 'quota.top-up' })
    t.match(audit, [
      { before: { left: 2 }, after: { id: 'credit-1', points: -1, left: 1 } },
      { before: { left: 0 }, after: { id: 'invoice-17', points: 3, left: 3 } },
    ])
  })

  t.test(`${store}, a request that fails gives back, and a dearer answer takes`, async (t) => {
    const { call, quota, topUp, inLedger } = await start(t, prepaid(1), store)
    await topUp({ points: 5, id: 'a' })
    await call()
    await call('/v1/ask', { 'x-cost': '9' })
    await until(async () => JSON.stringify(await quota()).includes('"left":-4'))
    t.match(await quota(), { month: { remaining: 0, beyond: 9, prepaid: { left: -4 } } })
    t.equal((await call()).status, 429)
    t.match(await topUp({ points: 10, id: 'b' }), { left: 6 })
    t.equal((await call()).status, 200)
    t.strictSame(await inLedger(), [11, 10])
  })
}

t.test('of a plan that includes nothing, nothing comes back by itself', async (t) => {
  const { call, topUp } = await start(t, prepaid(0), 'embedded', 'headers: { ietf: draft-11 }')
  const none = await call()
  t.match(none, {
    status: 429,
    headers: { 'retry-after': undefined, 'x-ratelimit-limit': '0', 'x-ratelimit-reset': /^\d+$/ },
  })
  t.equal(json(none)['message'], 'No points that you bought are left.')
  await topUp({ points: 7, id: 'a' })
  t.match((await call()).headers, {
    'x-ratelimit-limit': '7',
    'ratelimit-policy': '"month";q=0',
    ratelimit: /^"month";r=6;t=\d+$/,
  })
})

t.test('a top-up needs a window that is prepaid', async (t) => {
  const { gateway, ask, key, topUp } = await start(t, prepaid(5))
  const { key: plain } = await gateway.key({ plan: 'plain' })
  t.match(await topUp({ points: 1, id: 'a' }, plain.id), {
    status: 409,
    message: /has no window that is prepaid: there is nothing to top up/,
  })
  for (const [body, message] of [
    [{ points: 0, id: 'a' }, /points must be a whole number from 1/],
    [{ points: 1 }, /"id"|id is missing/],
    [{ points: 1, id: 'a b' }, /id must be 1 to 64 printable characters/],
    [{ id: 'a' }, /points|take/],
    [{ points: 1, take: 1, id: 'a' }, /not both/],
    [{ points: 1, id: 'a', note: '\u0000' }, /The note must be a line/],
  ] as const) {
    t.match(await topUp(body), { status: 400, message }, JSON.stringify(body))
  }
  t.match(await topUp({ points: 1, id: 'a' }, 'nobody'), { status: 404 })
  await ask('POST', `/admin/keys/${key.id}/revoke`)
  t.match(await topUp({ points: 1, id: 'a' }), { status: 409, message: /is revoked/ })
})

t.test('a key’s own limit may be prepaid, beside no other window that is', async (t) => {
  const { ask } = await start(t, prepaid(5))
  const make = (plan: string, limits: object) =>
    ask('POST', '/admin/keys', { name: 'x', plan, limits })
  const own = { perWeek: { limit: 0, beyond: 'prepaid' } }
  t.match(await make('plain', own), { status: 201 })
  t.match(await make('plain', { ...own, perDay: { limit: 1, beyond: 'meter', upTo: '300%' } }), {
    status: 400,
    text: /PerWeek can’t be prepaid beside perDay/,
  })
  t.match(await make('free', own), {
    status: 400,
    text: /PerWeek can’t be prepaid beside perMonth/,
  })
  t.match(await make('free', { perMonth: { limit: 9, beyond: 'prepaid' } }), { status: 201 })
  t.match(await make('own', { perMinute: 1, perDay: { limit: 1, beyond: 'prepaid' } }), {
    status: 400,
    text: /PerDay can’t be prepaid: the plan .*own.* is custom/,
  })
  t.match(await make('free', { perMinute: { limit: 1, beyond: 'prepaid' } }), { status: 400 })
})

t.test(
  'a purse that is damaged in Redis stops its own quota’s counting there, and nothing else',
  async (t) => {
    const redis = await startRedis(t)
    const gateway = await startGateway(t, {
      store: `redis: "${redis.url}"`,
      more: 'plans: { free: { perMinute: 100, perDay: 1000, perMonth: { limit: 50, beyond: prepaid } } }',
    })
    const [spoilt, sound] = [await gateway.key({ name: 'A' }), await gateway.key({ name: 'B' })]
    const ask = async ({ headers }: { headers: Record<string, string> }) =>
      (await gateway.call('GET', '/v1/x', undefined, headers)).status
    for (const key of [spoilt, sound, spoilt, sound]) t.equal(await ask(key), 200)
    for (const damaged of ['garbage', '1,2,3']) {
      const [name = ''] = await redis.client.keys(`*key:${spoilt.key.id}*`)
      t.equal(
        await redis.client.hset(name, 'pre:taken', damaged),
        damaged === 'garbage' ? 1 : 0,
        name,
      )
      const statuses = await Promise.all([spoilt, sound, spoilt, sound].map(ask))
      t.strictSame(statuses, [200, 200, 200, 200], damaged)
    }
  },
)
