import t, { type Test } from 'tap'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { gatewaysSeenBy, startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, type Call } from '../support/http.ts'
import { answered, bound, held, heldQuick, isLong, usualWait } from '../support/promises.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { pause, startTraffic, statusesOf, type Traffic } from '../support/traffic.ts'

const plan = 'plans: { p: { perMinute: 1000000, perDay: 1000000, bans: off } }'

/** One gateway on a Redis, behind a wire that can be made bad. */
async function startPlace(t: Test) {
  // Hidden settings of Redis: a pause for each name that is loaded, and a look at the network in between.
  const slow = ['--key-load-delay', '10000', '--loading-process-events-interval-bytes', '1024']
  const redis = await startRedis(t, ...slow)
  const wire = await startFaultProxy(t, redis.port)
  const { url: upstream } = await startUpstream(t)
  const { urls, key, processes } = await startFleet(t, {
    upstream,
    store: `redis: "redis://127.0.0.1:${wire.port}", timeout: 50ms`,
    more: plan,
    environments: [{ LOG_LEVEL: 'info' }],
  })
  const [url = ''] = urls
  const headers = await key()
  // The first requests are slow in any case: V8 hasn't compiled anything yet.
  for (let i = 0; i < 50; i++) await caller(url)('GET', '/v1/x', undefined, headers)
  /** How often the log has said something so far. */
  const times = (words: string): number => (processes[0]?.output().split(words).length ?? 1) - 1
  return { redis, wire, url, headers, times }
}

const place = await startPlace(t)

/** Traffic through the gateway, and what it usually waits; Redis counts when it begins. */
async function start(t: Test) {
  await backAfter(place.redis, () => caller(place.url)('GET', '/v1/x', undefined, place.headers))
  const traffic = startTraffic(t, place.url, place.headers)
  await pause(isLong ? 1_000 : 500)
  await traffic.answeredSince(0)
  const usual = usualWait(traffic.asked)
  return { ...place, traffic, usual }
}

/** When Redis has begun to count again, in milliseconds from now. */
async function backAfter(
  redis: RedisServer,
  ask: () => unknown = () => undefined,
): Promise<number> {
  const started = performance.now()
  const state = async () => {
    const names = await redis.client.keys('tollgate:quota:*')
    return JSON.stringify(await Promise.all(names.map((name) => redis.client.hgetall(name))))
  }
  const before = await state()
  await until(async () => {
    await ask()
    return (await state()) !== before
  }, 10_000)
  return performance.now() - started
}

function isServed(t: Test, traffic: Traffic, fromMs: number, promise: string): void {
  const statuses = statusesOf(traffic.between(fromMs))
  const is200 = Object.keys(statuses).join() === '200'
  held(t, `${t.name.split(':', 1)[0]}: nobody is refused`, JSON.stringify(statuses), is200)
  t.comment(promise)
}

t.test('Redis is killed: nobody hears of it, and it counts again when it is back', async (t) => {
  const { redis, traffic, usual } = await start(t)
  // It comes back with the keys; without them, they would end.
  await redis.client.save()
  const killed = performance.now()
  await redis.kill()
  await pause(isLong ? 2_000 : 1_000)
  const without = await answered(traffic, killed + 200, usual)
  heldQuick(t, 'Redis killed: no wait for it', without, { usual, most: 15 })
  await redis.restart()
  const back = await backAfter(redis)
  held(t, 'Redis killed: counts again within 2 s', `${Math.round(back)} ms`, back < bound(2_000))
  isServed(t, traffic, 0, `${traffic.asked.length} requests, all answered`)
})

t.test('Redis hangs: few wait, and none for longer than they may', async (t) => {
  const { redis, traffic, usual } = await start(t)
  const stopped = performance.now()
  redis.child().kill('SIGSTOP')
  await pause(isLong ? 30_000 : 1_500)
  const waited = traffic.between(stopped - 60).filter(({ ms }) => ms > 40 + usual)
  held(
    t,
    'Redis hangs: few wait, of 16 at a time',
    `${waited.length}`,
    waited.length <= (isLong ? 3 : 20) * 16,
  )
  const longest = Math.max(0, ...waited.map(({ ms }) => ms))
  held(t, 'Redis hangs: none waits for long', `${Math.round(longest)} ms`, longest < bound(200))
  const known = await answered(traffic, stopped + 500, usual)
  heldQuick(t, 'Redis hangs: no wait once it is known', known, { usual, most: 15 })
  redis.child().kill('SIGCONT')
  const back = await backAfter(redis)
  held(t, 'Redis hung: counts again within 2 s', `${Math.round(back)} ms`, back < bound(2_000))
  isServed(t, traffic, 0, `${traffic.asked.length} requests, all answered`)
})

t.test('Redis is slow: 20 ms are waited for, 200 ms are an outage', async (t) => {
  const { redis, wire, traffic, usual, times } = await start(t)
  const said = times('"the quota store is out')
  wire.delay(10)
  await pause(isLong ? 1_500 : 800)
  // Where the machine stalled meanwhile it may have been one; with 20 ms more it is over.
  await until(() => times('"the quota store is out') === times('"the quota store answers again'))
  const waiting = usualWait(traffic.between(performance.now() - 700))
  if (isLong) t.ok(waiting < usual + 60, `${Math.round(waiting)} ms`)
  wire.delay(100)
  // A gateway that is busy itself takes longer to be sure.
  if (!isLong) await until(() => times('"the quota store is out') > said)
  const slowed = performance.now()
  await pause(isLong ? 2_500 : 1_600)
  const late = await answered(traffic, slowed + 1_000, usual)
  heldQuick(t, 'Redis 200 ms late: taken for an outage', late, { usual, most: 15 })
  wire.delay(0)
  const back = await backAfter(redis)
  t.ok(back < bound(2_000), `counting again after ${Math.round(back)} ms`)
  const lines = times('"the quota store is out') - said
  t.ok(lines >= 1 && lines <= 4, `${lines} lines in the log`)
  isServed(t, traffic, 0, `${traffic.asked.length} requests, all answered`)
})

t.test('Redis answers, but takes nothing: full, a replica, locked', async (t) => {
  const { redis, traffic, times } = await start(t)
  const { client } = redis
  for (const [name, spoil, mend] of [
    [
      'full',
      () => client.config('SET', 'maxmemory', '1'),
      () => client.config('SET', 'maxmemory', '0'),
    ],
    [
      'a replica',
      () => client.call('REPLICAOF', '127.0.0.1', '1'),
      () => client.call('REPLICAOF', 'NO', 'ONE'),
    ],
    [
      'locked',
      async () => {
        await client.config('SET', 'requirepass', 'x')
        await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      },
      () => client.config('SET', 'requirepass', ''),
    ],
  ] as const) {
    const from = performance.now()
    const said = times('"the quota store is out')
    await spoil()
    await until(() => times('"the quota store is out') > said)
    await pause(isLong ? 500 : 200)
    await mend()
    const back = await backAfter(redis)
    held(
      t,
      `Redis ${name}: counts again within 2.5 s`,
      `${Math.round(back)} ms`,
      back < bound(2_500),
    )
    isServed(t, traffic, from, name)
  }
})

t.test('Redis comes and goes: nobody is refused', async (t) => {
  const { wire, traffic, usual } = await start(t)
  const from = performance.now()
  for (let i = 0; i < (isLong ? 30 : 3); i++) {
    wire.hang(true)
    await pause(700)
    wire.hang(false)
    wire.cut()
    await pause(700)
  }
  heldQuick(t, 'Redis comes and goes: short waits', traffic.between(from), { usual, most: 80 })
  isServed(t, traffic, from, `${traffic.between(from).length} requests, all answered`)
})

t.test('Redis is loading: it is not waited for', async (t) => {
  const { redis, traffic, usual } = await start(t)
  for (let i = 0; i < (isLong ? 300 : 150); i++)
    await redis.client.set(`filler:${i}`, 'x'.repeat(100))
  await redis.client.save()
  await redis.kill()
  const from = performance.now()
  const loaded = redis.restart()
  await loaded
  const took = performance.now() - from
  t.ok(took > 1_000, `it loaded for ${Math.round(took)} ms`)
  heldQuick(t, 'Redis loading: no wait for it', traffic.between(from + 200, from + took), {
    usual,
    most: 15,
  })
  const back = await backAfter(redis)
  held(t, 'Redis loaded: counts again within 2 s', `${Math.round(back)} ms`, back < bound(2_000))
  isServed(t, traffic, from, `${traffic.between(from).length} requests, all answered`)
})

t.test('one damaged quota hurts nobody else', async (t) => {
  const redis = await startRedis(t)
  const { url: upstream } = await startUpstream(t)
  const { urls, key, processes } = await startFleet(t, {
    upstream,
    store: `redis: "${redis.url}"`,
    // By the day, so that no minute ends meanwhile.
    more: 'plans: { p: { perMinute: unlimited, perDay: 30, bans: off } }',
  })
  const call = caller(urls[0] ?? '')
  const [spoilt, sound] = [await key(), await key()]
  await call('GET', '/v1/x', undefined, spoilt)
  const [name = ''] = await redis.client.keys('tollgate:quota:*')
  await redis.client.set(name, 'damaged')
  const ask = async (headers: { authorization: string }) => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => call('GET', '/v1/x', undefined, headers)),
    )
    return answers.filter(({ status }) => status === 200).length
  }
  const admitted = await ask(spoilt)
  t.ok(admitted >= 29 && admitted <= 30, `its own limit is held here: ${admitted} of 30`)
  t.equal(await ask(sound), 30)
  t.notMatch(processes[0]?.output(), /the quota store is out of reach/)
})

t.test('without Redis a fleet admits no more than with it', async (t) => {
  const logged = { LOG_LEVEL: 'info' }
  const redis = await startRedis(t)
  const { url: upstream } = await startUpstream(t)
  const { urls, key, processes } = await startFleet(t, {
    upstream,
    store: `redis: "${redis.url}"`,
    more: 'plans: { p: { perMinute: unlimited, perDay: 100, bans: off } }',
    environments: [logged, logged, logged],
  })
  const [seen, fresh] = [await key(), await key()]
  const calls = urls.map((url) => caller(url))
  const stands = async (call: Call, headers: Record<string, string>) =>
    until(async () => (await call('GET', '/v1/quota', undefined, headers)).status === 200)
  for (const headers of [seen, fresh]) for (const call of calls) await stands(call, headers)
  for (const each of processes) await until(async () => (await gatewaysSeenBy(each)) === 3)
  for (let i = 0; i < 40; i++) await calls[i % 3]?.('GET', '/v1/x', undefined, seen)
  for (const call of calls) await stands(call, seen)
  await redis.kill()
  for (const [headers, most] of [
    [seen, 60 + 3],
    [fresh, 100 + 3],
  ] as const) {
    let admitted = 0
    for (const call of calls) {
      const answers = await Promise.all(
        Array.from({ length: 120 }, () => call('GET', '/v1/x', undefined, headers)),
      )
      admitted += answers.filter(({ status }) => status === 200).length
      const last = await call('GET', '/v1/x', undefined, headers)
      t.match(last, {
        status: 429,
        headers: { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '0' },
      })
    }
    const isFair = admitted >= most - 6 && admitted <= most
    held(
      t,
      'three gateways without Redis: at most the limit + 3',
      `${admitted}, ${most - 3} were left`,
      isFair,
    )
  }
  t.ok(processes.every(({ child }) => child.exitCode === null))
})

t.test(
  'keys while Redis is gone: known ones go on, unknown ones are not turned away',
  async (t) => {
    const redis = await startRedis(t)
    const { url: upstream } = await startUpstream(t)
    const { urls, key } = await startFleet(t, {
      upstream,
      store: `redis: "${redis.url}"`,
      more: plan,
    })
    const [known, unknown] = [await key(), await key()]
    const call = caller(urls[0] ?? '')
    t.equal((await call('GET', '/v1/x', undefined, known)).status, 200)
    await redis.kill()
    t.equal((await call('GET', '/v1/x', undefined, known)).status, 200)
    const answer = await call('GET', '/v1/x', undefined, unknown)
    t.match(answer, { status: 503, headers: { 'retry-after': '5' } })
    const traffic = startTraffic(t, urls[0] ?? '', unknown, { connections: 1 })
    await until(() => traffic.asked.length >= 20)
    await traffic.stop()
    heldQuick(t, 'Redis gone, unknown keys: told at once', traffic.asked, { usual: 0, most: 40 })
    await redis.restart()
  },
)
