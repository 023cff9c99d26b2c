import t, { type Test } from 'tap'
import { startGateway, type Gateway, type GatewayOptions } from '../../support/gateway.ts'
import { startAdmin } from '../../support/admin.ts'
import type { Found } from '../../support/explained.ts'
import { logged, said } from '../../support/logs.ts'
import { json, type Answer } from '../../support/http.ts'
import { rate } from '../../support/rates.ts'
import { startCluster, startRedis } from '../../support/redis.ts'
import { noLimits } from '../../../gateway/front/limits/limits.ts'
import { until } from '../../support/until.ts'
import { isOverLimit } from '../../support/refusals.ts'

const noon = Date.UTC(2026, 5, 15, 12, 0, 10)
const [oneOClock, midnight] = [Date.UTC(2026, 5, 15, 13) / 1000, Date.UTC(2026, 5, 16) / 1000]
const free = `plans:
  free:
    perMinute: 60
    perDay: 1000
    operations:
      exports: { methods: [POST], paths: [/v1/exports, /v1/exports/*], perHour: 5, perDay: 20 }
      reads: { methods: [GET], paths: [/v1/exports/*], perDay: 59 }
  plain: { perMinute: 60, perDay: 1000 }
  own: { limits: custom, operations: { exports: { paths: [/v1/exports], perDay: 1 } } }`
const costly = `[ { path: /v1/exports/large, upstream: animals, cost: 5 },
  { path: /v1/exports/huge, upstream: animals, cost: 6 },
  { path: /v1/exports/free, upstream: animals, cost: 0 }, { path: /v1/*, upstream: animals } ]`

async function start(t: Test, options: GatewayOptions = {}) {
  const gateway = await startGateway(t, {
    clock: () => noon,
    more: free,
    routes: costly,
    ...options,
  })
  const { headers } = await gateway.key()
  const ask = (method: string, path: string) => gateway.call(method, path, undefined, headers)
  return { ...gateway, ask, headers, quota: async () => json(await ask('GET', '/v1/quota')) }
}

t.test('requests of an operation are counted in it and in the plan, all or nothing', async (t) => {
  const { ask, quota } = await start(t)
  const exported = () => ask('POST', '/v1/exports')
  t.strictSame(rate(await exported()), [5, 4, oneOClock], 'it has the fewest remaining')
  t.strictSame(rate(await ask('GET', '/v1/pets')), [60, 58, noon / 1000 + 50], 'only where it fits')
  for (let i = 0; i < 4; i++) t.equal((await exported()).status, 200)
  const refused = await exported()
  const sentence = /^5 exports an hour are used up\. Try again at 13:00:00 UTC \(1 h\)\.$/
  isOverLimit(t, refused, 'rate_limit_exceeded', sentence, 3_590)
  t.strictSame(rate(refused), [5, 0, oneOClock])
  t.equal((await ask('POST', '/v1/exports/7')).status, 429, 'both paths are one operation')
  t.equal((await ask('GET', '/v1/exports/7')).status, 200, 'another one isn’t')
  t.match(await quota(), {
    minute: { limit: 60, remaining: 53 },
    operations: {
      exports: {
        hour: { limit: 5, remaining: 0, reset: oneOClock },
        day: { limit: 20, remaining: 15, reset: midnight },
      },
      reads: { day: { limit: 59, remaining: 58 } },
    },
  })
  t.strictSame(rate(await ask('GET', '/v1/quota')), [60, 53, noon / 1000 + 50])
})

t.test('HEAD is of GET’s operation, and of equals the plan is told', async (t) => {
  const { ask, quota } = await start(t)
  for (let i = 0; i < 2; i++) await ask('HEAD', '/v1/exports/1')
  t.match(await quota(), { operations: { reads: { day: { remaining: 57 } } } })
  const more = free.replace('perDay: 59', 'perMinute: 60')
  const equal = await start(t, { more })
  t.strictSame(rate(await equal.ask('GET', '/v1/exports/1')), [60, 59, noon / 1000 + 50])
})

t.test('points of an operation are the plan’s: five at a time, none, or never', async (t) => {
  const { ask, quota } = await start(t)
  t.equal((await ask('POST', '/v1/exports/free')).status, 200)
  t.match(await quota(), { operations: { exports: { hour: { remaining: 5 } } } })
  const never = await ask('POST', '/v1/exports/huge')
  t.equal(never.status, 403)
  t.match(json(never), { message: 'This request costs 6 points; your limit is 5 an hour.' })
  t.equal((await ask('POST', '/v1/exports/large')).status, 200)
  t.match(await quota(), { operations: { exports: { hour: { remaining: 0 } } } })
})

t.test('what a failed backend gives back comes back to the operation', async (t) => {
  const { ask, quota } = await start(t, { targets: '[ "http://127.0.0.1:1" ]' })
  t.equal((await ask('POST', '/v1/exports')).status, 502)
  t.match(await quota(), {
    day: { remaining: 1_000 },
    operations: { exports: { hour: { remaining: 5 }, day: { remaining: 20 } } },
  })
})

t.test('draft 11 names an operation and its windows', async (t) => {
  const { ask } = await start(t, { more: `${free}\nheaders: { ietf: true }` })
  const { headers } = await ask('POST', '/v1/exports')
  t.equal(
    headers['ratelimit-policy'],
    '"minute";q=60;w=60, "day";q=1000;w=86400, "exports-hour";q=5;w=3600, "exports-day";q=20;w=86400',
  )
  t.equal(headers['ratelimit'], '"exports-hour";r=4;t=3590')
})

t.test('a custom plan may have operations, and a key keeps counts across plans', async (t) => {
  const { call, key, desk } = await start(t)
  const { headers, key: made } = await key({ plan: 'own', limits: { perMinute: 9, perDay: 90 } })
  const ask = () => call('POST', '/v1/exports', undefined, headers)
  t.equal((await ask()).status, 200)
  t.equal((await ask()).status, 429)
  await desk.edit(made.id, desk.changing({ plan: 'free' }))
  const seen: Answer[] = []
  while (seen.at(-1)?.headers['x-ratelimit-limit'] !== '5' && seen.length < 5)
    seen.push(await ask())
  t.strictSame(rate(seen.at(-1) as Answer), [5, 3, oneOClock], 'an operation of that name goes on')
})

for (const store of ['one Redis', 'a Cluster'] as const) {
  t.test(`four gateways on ${store} let in exactly as many`, async (t) => {
    const settings =
      store === 'one Redis'
        ? `redis: "${(await startRedis(t)).url}"`
        : `redis: { cluster: [ ${(await startCluster(t)).nodes.map((node) => `"${node}"`).join(', ')} ] }`
    const options = { clock: Date.now, storeClock: () => noon, store: settings, more: free }
    const first = await start(t, options)
    const upstream = first.upstream
    const others = [1, 2, 3].map(() => startGateway(t, { ...options, upstream }))
    const all: Gateway[] = [first, ...(await Promise.all(others))]
    // Until it has answered each of them once, a gateway decides alone.
    const look = { key: 'look', cost: 0, limits: noLimits }
    for (const { stores } of all) {
      const isAnswered = async () => stores.quota.decide('key:look', look)
      await until(() => isAnswered().then(Boolean, () => false))
    }
    const asked = Array.from({ length: 200 }, (_, i) =>
      all[i % 4]?.call(
        i % 8 < 4 ? 'POST' : 'GET',
        i % 8 < 4 ? '/v1/exports' : '/v1/pets',
        undefined,
        first.headers,
      ),
    )
    const answers: (Answer | undefined)[] = await Promise.all(asked.map(async (each) => each))
    const admitted = (is: (i: number) => boolean) =>
      answers.filter((answer, i) => is(i) && answer?.status === 200).length
    t.equal(
      admitted((i) => i % 8 < 4),
      5,
      'exports',
    )
    t.equal(
      admitted(() => true),
      60,
      'in all',
    )
  })
}

t.test('explain, timeline, live, metrics and log name the operation, and the cap', async (t) => {
  const { log, output } = logged()
  const options = { clock: () => noon, more: free, routes: costly, log }
  const { gateway, ask, metrics } = await startAdmin(t, options)
  const { headers, key } = await gateway.key({ account: 'acme', cap: { perHour: 6 } })
  const call = (path: string) => gateway.call('POST', path, undefined, headers)
  const refused: string[] = []
  for (const path of ['/v1/exports', '/v1/pets']) {
    const answers = [await call(path), await call(path), await call(path)]
    for (let i = 0; i < 3; i++) answers.push(await call(path))
    refused.push(String(answers.at(-1)?.headers['x-request-id']))
  }
  const [ofExports, ofCap] = await Promise.all(
    refused.map(async (id) => json(await ask('GET', `/admin/requests/${id}`)) as never as Found),
  )
  t.match(ofExports?.answers, [
    {
      ...{ reason: 'hour', operation: 'exports', cap: undefined },
      sentence:
        /^5 of 5 of exports in this hour were used \(plan free, account acme\)\. It would have/,
    },
  ])
  t.match(ofCap?.answers, [
    {
      ...{ reason: 'hour', operation: undefined, cap: true },
      sentence: /^6 of 6 of the key’s cap in this hour were used/,
    },
  ])
  t.match(said(output(), '"status":429')[0], {
    reason: 'hour',
    window: 'hour',
    operation: 'exports',
  })
  t.match(
    await metrics(),
    'tollgate_refusals_total{plan="free",reason="rate_limit_exceeded",window="hour",operation="exports"} 1',
  )
  await gateway.app.front.flushCounts()
  const { lines, sentence } = json(await ask('GET', `/admin/keys/${key.id}/timeline`)) as never as {
    lines: object[]
    sentence: string
  }
  t.match(sentence, / is refused until 2026-06-15 13:00:00Z .* 6 of its cap of 6 this hour[.,]/)
  t.match(lines, [
    { reason: 'hour', operation: undefined, cap: true, count: 5, limit: 6, used: 6 },
    { reason: 'hour', operation: 'exports', count: 1, limit: 5, used: 5 },
  ])
  const { refusals } = json(await ask('GET', '/admin/live')) as never as { refusals: object[] }
  t.match(refusals.slice(0, 2), [
    { reason: 'hour', operation: 'exports', cap: undefined },
    { reason: 'hour', operation: undefined, cap: true },
  ])
  const standing = json(await ask('GET', `/admin/quota/${key.id}`))
  t.match(standing, {
    operations: { exports: { hour: { limit: 5, remaining: 0 } } },
    cap: { hour: { limit: 6, remaining: 0 } },
  })
})
