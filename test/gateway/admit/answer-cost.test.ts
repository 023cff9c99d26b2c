import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { usage } from '../../../gateway/front/counts/usage.ts'
import { dayMs } from '../../../shared/windows.ts'
import { startAdmin } from '../../support/admin.ts'
import { startGateway, startUpstream, type GatewayOptions } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { logged, said } from '../../support/logs.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const { url } = await startRedis(t)

/** The answer of the backend by the path that is asked for. */
const answers: Record<string, (response: ServerResponse) => void> = {
  told: (response) => response.setHeader('X-Gateway-Cost', '137').end('{}'),
  less: (response) => response.setHeader('X-Gateway-Cost', '3').end('{}'),
  nothing: (response) => response.setHeader('X-Gateway-Cost', '0').end('{}'),
  missing: (response) => response.end('{}'),
  malformed: (response) => response.setHeader('X-Gateway-Cost', '1e2').end('{}'),
  twice: (response) => response.setHeader('X-Gateway-Cost', ['4', '5']).end('{}'),
  capped: (response) => response.setHeader('X-Gateway-Cost', '9999').end('{}'),
  failed: (response) => response.writeHead(404, { 'X-Gateway-Cost': '12' }).end('{}'),
  trailer: (response) => {
    response.writeHead(200, { Trailer: 'X-Gateway-Cost' }).write('{')
    response.addTrailers({ 'X-Gateway-Cost': '41' })
    response.end('}')
  },
  both: (response) => {
    response.writeHead(200, { Trailer: 'X-Gateway-Cost', 'X-Gateway-Cost': '7' }).write('{')
    response.addTrailers({ 'X-Gateway-Cost': '42' })
    response.end('}')
  },
  'bad-trailer': (response) => {
    response.writeHead(200, { Trailer: 'X-Gateway-Cost', 'X-Gateway-Cost': '7' }).write('{')
    response.addTrailers({ 'X-Gateway-Cost': 'x' })
    response.end('}')
  },
  'only-bad-trailer': (response) => {
    response.writeHead(200, { Trailer: 'X-Gateway-Cost' }).write('{')
    response.addTrailers({ 'X-Gateway-Cost': '12, 13' })
    response.end('}')
  },
}

async function startTelling(t: Test, options: Partial<GatewayOptions> = {}) {
  const asked: unknown[] = []
  const upstream = await startUpstream(t, (request, response) => {
    asked.push(request.headers.te)
    answers[request.url?.split('/').at(-1) ?? '']?.(response)
  })
  const gateway = await startGateway(t, {
    ...options,
    upstream,
    more: 'plans: { free: { perMinute: 1000, perHour: 5000, perDay: 5000 } }',
    routes: `[ { path: /v1/*, upstream: animals, cost: { estimate: 10, from: answer, atMost: 500 } } ]`,
  })
  const { headers, key } = await gateway.key({ plan: 'free' })
  const used = async () => {
    const { minute, hour, day } = json(await gateway.call('GET', '/v1/quota', undefined, headers))
    return [minute, hour, day].map((window) => {
      const { limit, remaining } = window as { limit: number; remaining: number }
      return limit - remaining
    })
  }
  return { gateway, headers, key, used, asked }
}

for (const store of ['embedded', 'redis']) {
  t.test(`${store}, a request costs what its answer tells, in all windows`, async (t) => {
    const { gateway, headers, key, used, asked } = await startTelling(
      t,
      store === 'redis' ? { store: `redis: "${url}", prefix: "told:"` } : {},
    )
    let sum = 0
    for (const [path, cost] of Object.entries({
      ...{ told: 137, less: 3, nothing: 0, missing: 10, malformed: 10, twice: 10, capped: 500 },
      ...{ failed: 12, trailer: 41, both: 42, 'bad-trailer': 7, 'only-bad-trailer': 10 },
    })) {
      const answer = await gateway.call('GET', `/v1/${path}`, undefined, headers)
      t.notOk('x-gateway-cost' in answer.headers, `${path}: the caller doesn't see it`)
      t.equal(answer.headers['x-ratelimit-remaining'], String(1_000 - sum - 10), path)
      sum += cost
      await until(async () => (await used()).every((points) => points === sum))
    }
    t.equal(asked[0], 'trailers', 'the backend is told that trailers are read')
    const outcomes = [...gateway.app.front.meters.answerCosts].map(([name, , n]) => [name, n])
    const counts = { told: 7, missing: 1, malformed: 3, capped: 1 }
    t.strictSame(Object.fromEntries(outcomes), counts)
    await gateway.app.front.flushCounts()
    const day = Math.floor(Date.now() / dayMs)
    const [line] = await usage(gateway.stores, { fromDay: day, toDay: day })
    t.match(line, { key: key.id, points: sum })
  })
}

t.test('a full quota has room again within a second when an answer has cost less', async (t) => {
  const held: ServerResponse[] = []
  const upstream = await startUpstream(t, (_request, response) => {
    response.setHeader('X-Gateway-Cost', '1')
    if (held.push(response) > 1) response.end('{}')
  })
  const { call, key } = await startGateway(t, {
    upstream,
    store: `redis: "${url}", prefix: "room:"`,
    more: 'plans: { free: { perMinute: 10, perDay: 1000, bans: off } }',
    routes: `[ { path: /v1/*, upstream: animals, cost: { estimate: 6, from: answer } } ]`,
  })
  const { headers } = await key()
  const ask = () => call('GET', '/v1/x', undefined, headers)
  const first = ask()
  await until(() => held.length > 0)
  t.equal((await ask()).status, 429)
  held[0]?.end('{}')
  t.equal((await first).status, 200)
  const since = performance.now()
  await until(async () => (await ask()).status === 200)
  t.ok(performance.now() - since < 5_000)
})

for (const store of ['embedded', 'redis']) {
  t.test(`${store}, an estimate of 0 lets in while any points are left`, async (t) => {
    const upstream = await startUpstream(t, (_request, response) => {
      response.setHeader('X-Gateway-Cost', '3').end('{}')
    })
    const { call, key } = await startGateway(t, {
      upstream,
      ...(store === 'redis' ? { store: `redis: "${url}", prefix: "free:"` } : {}),
      more: 'plans: { free: { perMinute: unlimited, perDay: 5, operations: { a: { paths: [/v1/a], perDay: 4 } } } }',
      routes: `[ { path: /v1/*, upstream: animals, cost: { estimate: 0, from: answer, atMost: 9 } } ]`,
    })
    for (const [path, limit, answers] of [
      ['/v1/x', 5, 2],
      ['/v1/a', 4, 2],
    ] as const) {
      const { headers } = await key({ plan: 'free' })
      const remaining = async () =>
        (await call('GET', path, undefined, headers)).headers['x-ratelimit-remaining']
      t.equal(await remaining(), String(limit), 'nothing is held')
      for (let used = 3; used < answers * 3; used += 3) {
        await until(async () => {
          const { day } = json(await call('GET', '/v1/quota', undefined, headers))
          return (day as { remaining: number }).remaining === 5 - used
        })
        t.equal(await remaining(), String(limit - used))
      }
      await until(async () => (await call('GET', path, undefined, headers)).status === 429)
      const refused = await call('GET', path, undefined, headers)
      t.match(refused, { status: 429, headers: { 'x-ratelimit-remaining': '0' } })
      t.match(json(refused)['message'], /^5 requests a day/)
    }
  })
}

t.test('the log tells estimate and cost', async (t) => {
  const { log, output } = logged()
  const { gateway, headers } = await startTelling(t, { log })
  await gateway.call('GET', '/v1/told', undefined, headers)
  const lines = () => said(output(), '"route":"/v1/*"')
  await until(() => lines().length > 0)
  t.match(lines(), [{ estimate: 10, cost: 137 }])
})

t.test(
  'requests that nobody answers cost nothing, and broken answers what was told before',
  async (t) => {
    const upstream = await startUpstream(t, ({ url = '' }, response) => {
      if (url.endsWith('reset')) return void response.destroy()
      response.writeHead(200, { 'X-Gateway-Cost': '33' }).write('{')
      setTimeout(() => response.destroy(), 50)
    })
    const { call, gateway } = await startAdmin(t, {
      upstream,
      routes: `[ { path: /v1/*, upstream: animals, cost: { estimate: 10, from: answer } } ]`,
    }).then(({ gateway }) => ({ gateway, call: gateway.call }))
    const { headers } = await gateway.key({ plan: 'free' })
    const left = async () =>
      (json(await call('GET', '/v1/quota', undefined, headers))['day'] as { remaining: number })
        .remaining
    t.equal((await call('GET', '/v1/reset', undefined, headers)).status, 502)
    await until(async () => (await left()) === 1_000)
    await t.rejects(call('GET', '/v1/broken', undefined, headers))
    await until(async () => (await left()) === 967)
  },
)
