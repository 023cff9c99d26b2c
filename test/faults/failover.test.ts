import t from 'tap'
import { connect } from '../../gateway/front/stores/redis/connect.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { bound, held, isLong } from '../support/promises.ts'
import { startSentinel } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { pause, startTraffic, statusesOf } from '../support/traffic.ts'

t.test('a fail-over to a replica that has lost writes', async (t) => {
  const { sentinel, name, servers } = await startSentinel(t)
  const [master, replica] = servers
  if (!master || !replica) return
  const { url: upstream } = await startUpstream(t)
  const { urls, key, processes } = await startFleet(t, {
    upstream,
    // Beside other tests, a Redis that is late is no Redis that has moved.
    store: `redis: { sentinels: [ "${sentinel}" ], name: ${name} }, timeout: ${isLong ? '50ms' : '1s'}`,
    more: 'plans: { p: { perMinute: unlimited, perDay: 100, bans: off }, q: { perMinute: unlimited, perDay: unlimited } }',
    environments: [{ LOG_LEVEL: 'info' }, { LOG_LEVEL: 'info' }],
  })
  const calls = urls.map((url) => caller(url))
  const [headers, others] = [await key(), await key({ plan: 'q' })]
  for (const call of calls) {
    for (const each of [headers, others]) {
      await until(async () => (await call('GET', '/v1/quota', undefined, each)).status === 200)
    }
  }
  const traffics = urls.map((url) => startTraffic(t, url, others, { connections: 2, pauseMs: 10 }))
  // The replica is stopped once it has the keys, so it never gets the counts from here on.
  await pause(500)
  replica.child().kill('SIGSTOP')
  let admitted = 0
  const ask = async (place: number): Promise<void> => {
    const answer = await calls[place % 2]?.('GET', '/v1/x', undefined, headers)
    if (answer?.status === 200) admitted++
  }
  for (let i = 0; i < 60; i++) await ask(i)
  // Each gateway knows what has been used when it has last asked.
  for (const call of calls) await call('GET', '/v1/quota', undefined, headers)
  t.equal(admitted, 60)
  const killed = performance.now()
  await master.kill()
  replica.child().kill('SIGCONT')
  await until(async () => String(await replica.client.call('ROLE')).startsWith('master'), 20_000)
  await until(async () => (await replica.client.keys('tollgate:quota:*')).length > 0, 20_000)
  const back = performance.now() - killed
  // Until a gateway has found the new master it goes by its share.
  const isBack = (output: string): boolean =>
    output.split('"the quota store answers again').length ===
    output.split('"the quota store is out').length
  await until(() => processes.every(({ output }) => isBack(output())), 20_000)
  await pause(500)
  const found = performance.now() - killed
  for (let i = 0; i < 120; i++) await ask(i)
  await Promise.all(traffics.map((traffic) => traffic.stop()))
  const statuses = statusesOf(traffics.flatMap(({ asked }) => asked))
  const is200 = Object.keys(statuses).join() === '200'
  held(t, 'fail-over: nobody is refused because of it', JSON.stringify(statuses), is200)
  t.notMatch(processes.map(({ output }) => output()).join(), /was emptied/)
  held(
    t,
    'fail-over: the new master counts within 5 s',
    `${(back / 1_000).toFixed(1)} s`,
    back < bound(5_000),
  )
  held(
    t,
    'fail-over: both gateways have found it within 5 s',
    `${(found / 1_000).toFixed(1)} s`,
    found < bound(5_000),
  )
  held(
    t,
    'fail-over with lost writes: at most the limit + 1 of two gateways',
    `${admitted} of 100`,
    admitted >= 98 && admitted <= 101,
  )
})

t.test('a Sentinel tells of a new master while it is asked for one', async (t) => {
  const { sentinel, name, servers } = await startSentinel(t)
  // Its answers come late, so that it is being asked, or soon will be, when the news are on their way.
  const wire = await startFaultProxy(t, Number(sentinel.split(':')[1]))
  const settings = { sentinels: [`127.0.0.1:${wire.port}`], name }
  const connections = Array.from({ length: 12 }, () => connect(settings, { timeoutMs: 1_000 }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  const areReady = (): boolean => connections.every(({ status }) => status === 'ready')
  await until(areReady, 20_000)
  // Each hears of fail-overs on a connection of its own, which begins when it is ready.
  await pause(500)
  wire.delay(100)
  await servers[0]?.kill()
  await until(() => !areReady())
  const set = () => Promise.all(connections.map((connection) => connection.set('x', 1)))
  await until(async () => areReady() && (await set().catch(() => [])).length > 0, 30_000)
  t.pass('all of them are back')
})

t.test('a Sentinel that takes connections and says nothing is passed over', async (t) => {
  const { sentinel, name } = await startSentinel(t)
  const wire = await startFaultProxy(t, Number(sentinel.split(':')[1]))
  wire.hang(true)
  const settings = { sentinels: [`127.0.0.1:${wire.port}`, sentinel], name }
  const connection = connect(settings, { timeoutMs: 200 })
  t.teardown(() => connection.disconnect())
  await until(() => connection.status === 'ready')
  t.equal(await connection.set('x', 1), 'OK')
})
