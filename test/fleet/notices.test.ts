import t from 'tap'
import type { Notices } from '../../gateway/office/notices/notices.ts'
import { noticesView } from '../../gateway/office/notices/view.ts'
import { startFleet } from '../support/fleet.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { bound } from '../support/promises.ts'
import { entry, few, movable, startReceiver } from '../support/receiver.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

t.test('notices of an outage of the store wait until it is back', async (t) => {
  const redis = await startRedis(t)
  const { clock, move } = movable()
  const { got, types, url } = await startReceiver(t)
  const more = `notices: [ ${entry(url, ', about: [store.*, upstream.*]')} ]`
  const store = `redis: "${redis.url}", timeout: 200ms`
  const gateways = [
    await startGateway(t, { more, clock, store }),
    await startGateway(t, { more, clock, store }),
  ]
  const each = (what: (notices: Notices) => Promise<unknown>) =>
    Promise.all(gateways.map(({ app }) => what(app.office.notices)))
  const tick = () => each((notices) => notices.tick())
  await tick()
  await tick()
  const key = await gateways[0]?.key()
  const ask = () =>
    Promise.all(gateways.map(({ call }) => call('GET', '/v1/x', undefined, key?.headers)))
  await ask()
  await redis.kill()
  await until(async () => {
    await ask()
    return gateways.every(({ app }) => !app.front.quotas.isReachable)
  })
  await tick()
  for (const { app } of gateways) {
    app.office.notices.targets.out('animals', 'http://10.0.0.1', undefined)
  }
  await tick()
  t.strictSame(types(), [])
  await redis.restart()
  await until(() => gateways.every(({ app }) => app.front.quotas.isReachable))
  await until(async () => {
    await tick()
    return got.length >= 2
  })
  move(7_000)
  await tick()
  await tick()
  // It comes back without its data.
  t.strictSame(types().sort(), ['store.emptied', 'upstream.target_out'])
})

t.test('four gateways tell of one key exactly twice', async (t) => {
  const redis = await startRedis(t)
  const { got, url } = await startReceiver(t, (nth) => (nth <= 2 ? 500 : 200))
  const more = `plans: { free: { perMinute: unlimited, perDay: 200 } }
notices: [ ${entry(url, ', about: [key.near_limit]')} ]`
  const store = `redis: "${redis.url}"`
  const gateways = await Promise.all([1, 2, 3, 4].map(() => startGateway(t, { more, store })))
  const [first] = gateways
  if (!first) throw new Error('there are four')
  const { headers } = await first.key()
  await Promise.all(
    Array.from({ length: 49 }).flatMap(() =>
      gateways.map(({ call }) => call('GET', '/v1/x', undefined, headers)),
    ),
  )
  const tick = () =>
    Promise.all(
      gateways.map(async ({ app: { office } }) => {
        await office.notices.outbox.flush()
        await office.notices.tick()
      }),
    )
  await until(async () => {
    await tick()
    return got.length >= 2
  })
  t.equal(new Set(got.map(({ id }) => id)).size, 2)
  t.strictSame(got.map(({ data }) => data['percent']).sort(), [80, 95])
  // Gateways that have restarted see the same once more.
  const again = await startGateway(t, { more, store })
  for (let i = 0; i < 2; i++) await again.call('GET', '/v1/x', undefined, headers)
  await again.app.office.notices.outbox.flush()
  await tick()
  const { stores, config } = first
  const view = await noticesView({
    ...{ notices: config.notices, store: stores.notices, isFailed: false, limit: 9 },
  })
  t.strictSame(
    view.notices.map(({ tries }) => tries),
    [1, 1],
    'both wait for their second try',
  )
})

t.test(
  'a gateway that is killed loses no notice, and a hanging address slows no request',
  async (t) => {
    const redis = await startRedis(t)
    let status: number | 'hang' = 'hang'
    const { got, url } = await startReceiver(t, () => status)
    const upstream = await startUpstream(t)
    const more = `${few}\nnotices: [ ${entry(url, ', about: [key.*]')} ]`
    const options = { upstream: upstream.url, store: `redis: "${redis.url}"`, more }
    const fleet = await startFleet(t, options)
    // The first one sends, because it was there before the other.
    await until(
      async () => (await redis.client.hexists('tollgate:{documents:leases}', 'notices')) === 1,
    )
    const env = { TOLLGATE_CONFIG: fleet.file, LOG_LEVEL: 'warn' }
    const service = startProcess(t, 'gateway/main.ts', { env })
    const [one, other] = [...fleet.urls, await service.url].map(caller)
    const headers = await fleet.key()
    for (let i = 0; i < 16; i++) await one?.('GET', '/v1/x', undefined, headers)
    await until(() => got.length === 1)
    t.equal(got[0]?.type, 'key.near_limit')
    fleet.processes[0]?.child.kill('SIGKILL')
    await fleet.processes[0]?.ended
    const beganAtMs = performance.now()
    t.equal((await other?.('GET', '/v1/x', undefined, headers))?.status, 200)
    t.ok(performance.now() - beganAtMs < bound(1_000), 'no request waits for it')
    status = 204
    await redis.client.eval(
      `for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
         local text = redis.call('HGET', KEYS[1], name):gsub('"nextTryMs":%d+', '"nextTryMs":0')
         redis.call('HSET', KEYS[1], name, text)
       end`,
      1,
      String((await redis.client.keys('tollgate:{documents:notices%3A*%3A0}'))[0]),
    )
    await until(() => got.length === 2, 15_000)
    t.equal(got[1]?.id, got[0]?.id, 'under the same id')
  },
)
