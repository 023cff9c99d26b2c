import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { Pool } from 'undici'
import { gatewaysSeenBy, startFleet, type Fleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { startCluster, startRedis, type Ends } from '../support/redis.ts'
import { until } from '../support/until.ts'

const limit = 3

/** To each of two gateways, by requests that are let in as a rule. */
const requestsEach = Number(process.env['REQUESTS'] ?? 5_000)
const plans = `plans:
  free: { perMinute: unlimited, perDay: unlimited, atOnce: ${limit}, bans: off }
`

/** A backend that knows how many requests are under way: each until its answer has ended, or its connection is closed. */
async function startCounting(t: Ends) {
  const seen = { now: 0, most: 0, all: 0 }
  const held: ServerResponse[] = []
  const { url } = await startUpstream(t, ({ url = '' }, response) => {
    seen.now++
    seen.all++
    seen.most = Math.max(seen.most, seen.now)
    response.once('close', () => seen.now--)
    const [, answer] = url.split('?')
    if (answer === 'hold') return void held.push(response)
    if (answer === 'break') return void setTimeout(() => response.destroy(), 20)
    setTimeout(() => response.end('{}'), 1 + Math.random() * 60)
  })
  return { url, seen, held }
}

async function start(t: Test, store: string, gateways = 4, more = plans) {
  const backend = await startCounting(t)
  const environments = Array.from({ length: gateways }, () => ({ LOG_LEVEL: 'info' }))
  const fleet = await startFleet(t, { upstream: backend.url, store, more, environments })
  const [first] = fleet.processes
  if (first) await until(async () => (await gatewaysSeenBy(first)) === gateways)
  return { ...backend, fleet, headers: await fleet.key({ plan: 'free' }) }
}

async function used(url: string, headers: Record<string, string>): Promise<unknown> {
  const { atOnce } = json(await caller(url)('GET', '/v1/quota', undefined, headers)) as {
    atOnce?: { used: number }
  }
  return atOnce?.used
}

/** Sends requests over many connections to all gateways: most are answered, some are broken off or left. */
async function storm({ urls }: Fleet, headers: Record<string, string>, requests: number) {
  const counts: Record<string, number> = {}
  const pools = urls.map((url) => new Pool(url, { connections: 64, pipelining: 1 }))
  const one = async (pool: Pool, i: number): Promise<void> => {
    const path = i % 11 === 0 ? '/v1/x?break' : '/v1/x'
    const signal = i % 13 === 0 ? AbortSignal.timeout(5) : null
    try {
      const { statusCode, body } = await pool.request({ method: 'POST', path, headers, signal })
      counts[statusCode] = (counts[statusCode] ?? 0) + 1
      await body.dump()
    } catch {
      counts['left'] = (counts['left'] ?? 0) + 1
    }
  }
  const tasks = pools.flatMap((pool, p) =>
    Array.from({ length: 64 }, async (_, i) => {
      for (let n = i; n < requests; n += 64) await one(pool, n + p)
    }),
  )
  await Promise.all(tasks)
  await Promise.all(pools.map((pool) => pool.destroy()))
  return counts
}

t.test('four gateways × 64 connections never have more under way than the limit', async (t) => {
  const redis = await startRedis(t)
  const { fleet, headers, seen } = await start(t, `redis: "${redis.url}"`)
  const counts = await storm(fleet, headers, 1_500)
  t.comment(JSON.stringify({ ...counts, ...seen }))
  t.equal(seen.most, limit, 'as many as may be, and never one more')
  t.ok((counts[200] ?? 0) > 20 && (counts[502] ?? 0) > 0 && (counts['left'] ?? 0) > 0)
  const [url = ''] = fleet.urls
  await until(async () => (await used(url, headers)) === 0)
  t.equal(seen.now, 0)
})

t.test('however many requests there were, no place stays taken', async (t) => {
  const redis = await startRedis(t)
  const wide = plans.replace(`atOnce: ${limit}`, 'atOnce: 100')
  const { fleet, headers, seen } = await start(t, `redis: "${redis.url}"`, 2, wide)
  const counts = await storm(fleet, headers, requestsEach)
  t.comment(JSON.stringify({ ...counts, ...seen }))
  t.ok(seen.most <= 100)
  const [url = ''] = fleet.urls
  await until(async () => (await used(url, headers)) === 0)
  t.equal(seen.now, 0)
})

t.test('nor in a Cluster', async (t) => {
  const { nodes } = await startCluster(t)
  const store = `redis: { cluster: ${JSON.stringify(nodes)} }, timeout: 5s`
  const { fleet, headers, seen } = await start(t, store, 2)
  const counts = await storm(fleet, headers, 700)
  t.comment(JSON.stringify({ ...counts, ...seen }))
  t.equal(seen.most, limit)
  const [url = ''] = fleet.urls
  await until(async () => (await used(url, headers)) === 0)
})

t.test('places of a gateway that is killed are free again', async (t) => {
  const redis = await startRedis(t)
  const { fleet, headers, seen, held } = await start(t, `redis: "${redis.url}"`, 2)
  const [url = '', other = ''] = fleet.urls
  const slow = Array.from({ length: limit }, () =>
    caller(other)('POST', '/v1/x?hold', undefined, headers).catch(() => undefined),
  )
  await until(() => held.length === limit)
  const ask = async () => (await caller(url)('POST', '/v1/x', undefined, headers)).status
  t.equal(await ask(), 429)
  // As many seconds as gateways must have been together, before one may be gone.
  await new Promise((go) => setTimeout(go, 5_000))
  fleet.processes[1]?.signal('SIGKILL')
  const killedAtMs = performance.now()
  t.equal(await ask(), 429, 'it may be alive')
  await until(async () => {
    await new Promise((go) => setTimeout(go, 500))
    return (await ask()) === 200
  })
  const tookMs = performance.now() - killedAtMs
  t.ok(tookMs > 3_000 && tookMs < 9_000, `${Math.round(tookMs)} ms`)
  await Promise.all(slow)
  await until(async () => (await used(url, headers)) === 0 && seen.now === 0)
})

t.test('a Redis that has lost places is told them anew', async (t) => {
  const redis = await startRedis(t)
  const { fleet, headers, held, seen } = await start(t, `redis: "${redis.url}"`, 2)
  const [url = '', other = ''] = fleet.urls
  const slow = [url, url, other].map((each) =>
    caller(each)('POST', '/v1/x?hold', undefined, headers),
  )
  await until(() => held.length === limit)
  const [hash = ''] = await redis.client.keys('tollgate:quota:*')
  await redis.client.del(hash)
  t.equal(await used(url, headers), 0)
  // As with a fail-over, all have to connect anew.
  await redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await until(async () => (await used(url, headers)) === limit)
  t.equal((await caller(url)('POST', '/v1/x', undefined, headers)).status, 429)
  held.splice(0).forEach((response) => response.end('{}'))
  t.strictSame(
    (await Promise.all(slow)).map(({ status }) => status),
    [200, 200, 200],
  )
  await until(async () => (await used(url, headers)) === 0 && seen.now === 0)
})
