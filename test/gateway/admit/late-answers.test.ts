import { setTimeout as pass } from 'node:timers/promises'
import t from 'tap'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

/** Answers that wait until they are let go. */
async function start() {
  const redis = await startRedis(t)
  const waiting: (() => void)[] = []
  const upstream = await startUpstream(t, ({ url }, response) => {
    waiting.push(() => {
      if (url === '/v1/fails') response.destroy()
      else response.setHeader('X-Gateway-Cost', url === '/v1/less' ? '3' : '500').end('{}')
    })
  })
  const gateway = await startGateway(t, {
    upstream,
    store: `redis: "${redis.url}", timeout: 400ms`,
    more: 'plans: { free: { perMinute: 100000, perDay: 100000 } }',
    routes:
      '[ { path: /v1/*, upstream: animals, cost: { estimate: 10, from: answer, atMost: 500 } } ]',
  })
  const { headers } = await gateway.key({ plan: 'free' })
  const used = async (): Promise<number> => {
    const { day } = json(await gateway.call('GET', '/v1/quota', undefined, headers))
    const { limit, remaining } = day as { limit: number; remaining: number }
    return limit - remaining
  }
  return { redis, waiting, gateway, headers, used }
}

t.test('what Redis counts is counted once, however late it says so', async (t) => {
  const { redis, waiting, gateway, headers, used } = await start()
  // Redis knows the script from then on.
  const first = gateway.call('GET', '/v1/less', undefined, headers)
  await until(() => waiting.length === 1)
  waiting.pop()?.()
  await first
  let expected = 3
  await until(async () => (await used()) === expected)
  for (const [path, cost] of Object.entries({ more: 500, less: 3, fails: 0 })) {
    // Fewer than are taken for an outage: they are all sent.
    const answers = [1, 2].map(() => gateway.call('GET', `/v1/${path}`, undefined, headers))
    await until(() => waiting.length === 2)
    t.equal(await used(), expected + 20, path)
    redis.child().kill('SIGSTOP')
    for (const answer of waiting.splice(0)) answer()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    t.strictSame(statuses, path === 'fails' ? [502, 502] : [200, 200])
    await pass(800)
    redis.child().kill('SIGCONT')
    // An answer that is in time tells the gateway that Redis can be asked again.
    const last = gateway.call('GET', '/v1/less', undefined, headers)
    await until(() => waiting.length === 1)
    waiting.pop()?.()
    await last
    expected += 2 * cost + 3
    await until(async () => (await used()) === expected)
    await pass(200)
    t.equal(await used(), expected, 'and stays so')
  }
})

t.test('what Redis lets in after its gateway has done so is counted once', async (t) => {
  const redis = await startRedis(t)
  const gateway = await startGateway(t, {
    store: `redis: "${redis.url}", timeout: 200ms`,
    more: 'plans: { free: { perMinute: 1000, perDay: 1000, perMonth: { limit: 5, beyond: prepaid } } }',
  })
  const { headers, key } = await gateway.key({ plan: 'free' })
  const top = { id: 'a', points: 30, by: 'a', note: undefined }
  await gateway.stores.quota.topUp(`key:${key.id}`, top)
  const ask = () => gateway.call('GET', '/v1/x', undefined, headers)
  const standing = async () =>
    json(await gateway.call('GET', '/v1/quota', undefined, headers)) as Record<
      'day' | 'month',
      { remaining: number; prepaid?: { left: number } }
    >
  await ask()
  redis.child().kill('SIGSTOP')
  const answers = await Promise.all(Array.from({ length: 10 }, ask))
  t.ok(answers.every(({ status }) => status === 200))
  redis.child().kill('SIGCONT')
  for (let i = 0; i < 2; i++) {
    await until(async () => (await standing()).day.remaining === 1_000 - 11)
    t.equal((await standing()).month.prepaid?.left, 24)
    await pass(500)
  }
})

t.test('what came too late makes no room while a gateway decides alone', async (t) => {
  const redis = await startRedis(t)
  const gateway = await startGateway(t, {
    store: `redis: "${redis.url}", timeout: 200ms`,
    more: 'plans: { free: { perMinute: unlimited, perDay: 40, bans: off } }',
  })
  const { headers } = await gateway.key({ plan: 'free' })
  const ask = async () => (await gateway.call('GET', '/v1/x', undefined, headers)).status === 200
  const tenTimes = async () => (await Promise.all(Array.from({ length: 10 }, ask))).filter(Boolean)
  let admitted = Number(await ask())
  redis.child().kill('SIGSTOP')
  for (let i = 0; i < 3; i++) admitted += (await tenTimes()).length
  redis.child().kill('SIGCONT')
  for (let i = 0; i < 20; i++) {
    admitted += (await tenTimes()).length
    await pass(100)
  }
  t.equal(admitted, 40)
})
