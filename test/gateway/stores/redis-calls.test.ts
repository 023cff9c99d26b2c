import { scriptTime } from '../../../gateway/front/stores/redis/script-time.ts'
import { withUsed } from '../../../gateway/contracts/counters.ts'
import { Redis } from 'ioredis'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Ask } from '../../../gateway/front/limits/step.ts'
import { dayMs } from '../../../shared/windows.ts'
import { desksFor } from '../../../gateway/office/operations/desks.ts'
import { deprecatedCall, deprecatedCalls } from '../../../gateway/front/counts/deprecated-calls.ts'
import { talliesOn } from '../../../gateway/front/counts/tally-store.ts'
import { usage } from '../../../gateway/front/counts/usage.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedCounts } from '../../../gateway/front/stores/embedded/counts.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { unavailable } from '../../../gateway/front/stores/redis/answer.ts'
import { auditList, auditOn } from '../../../gateway/front/records/audit-list.ts'
import { redisLists } from '../../../gateway/front/stores/redis/lists.ts'
import { redisQuotas } from '../../../gateway/front/stores/redis/quota.ts'
import { keyedScript } from '../../../gateway/front/stores/redis/script.ts'
import { redisCounts } from '../../../gateway/front/stores/redis/counts.ts'
import { newKey } from '../../contracts/keys.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { json } from '../../support/http.ts'
import { bound } from '../../support/promises.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

/** One Redis for all tests of this file. Each has names of its own in it. */
const { url, port, client, child } = await startRedis(t)

/** The number of times that Redis has been given a command. */
async function callsOf(command: string): Promise<number> {
  const found = new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(
    await client.info('commandstats'),
  )
  return Number(found?.[1] ?? 0)
}

/** Quotas with the same limit for a minute and a day, by Redis' own clock. */
async function quotasAt(t: Test, prefix: string, { at = url, limit = 10 } = {}) {
  const connection = await connectionTo(t, { url: at })
  const store = redisQuotas({ connection, prefix, timeoutMs: 2_000 })
  t.teardown(() => store.close())
  const limits = { perMinute: limit, perDay: limit }
  const ask = async (quota: string) =>
    withUsed(await store.decide(quota, { key: 'k', cost: 1, limits }))
  return { store, ask }
}

t.test('redis, a quota lasts as long as its month, and for good if that was moved', async (t) => {
  const { store, ask } = await quotasAt(t, 'lasts:')
  await ask('key:usual')
  const now = new Date()
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - now.getTime()
  const daysLeft = async (quota: string) => (await client.pttl(`lasts:quota:${quota}`)) / dayMs
  t.ok(Math.abs((await daysLeft('key:usual')) - Math.max(month / dayMs, 3)) <= 1.1)
  await store.setMonthFrom('key:usual', 15)
  t.ok((await daysLeft('key:usual')) > 36_000)
})

t.test('redis, what was given up is not done after all', async (t) => {
  const connection = new Redis(url)
  t.teardown(() => connection.disconnect())
  const run = keyedScript({ connection, timeoutMs: 50, file: 'quota.lua' })
  const ask = () => run('given-up', scriptTime(), ';0;;0;1,-1,10,-1,10,-1,-1,0,;;0;;;k')
  await client.script('FLUSH')
  // It has lost its scripts, and says so only after the time limit.
  child().kill('SIGSTOP')
  await t.rejects(ask(), /did not answer within 50 ms/)
  child().kill('SIGCONT')
  // This answer comes after the one that says so.
  await connection.ping()
  t.equal(await connection.exists('given-up'), 0, 'it is not counted later')
  t.match(await ask(), [/^\d+,\d+$/, /^1,0,1,\d+,\d+,0,/], 'and the next one is')
})

t.test('redis, a gateway that is late itself takes no answer for late', async (t) => {
  const [connection, other] = [new Redis(url), new Redis(url)]
  t.teardown(() => [connection, other].forEach((each) => each.disconnect()))
  const run = keyedScript({ connection, timeoutMs: 50, file: 'quota.lua' })
  const ask = () => run('late', scriptTime(), ';0;;0;1,-1,100,-1,100,-1,-1,0,;;0;;;k')
  await ask()
  let turnMs = 0
  /** A loop that comes to look for answers only now and then. */
  const turn = (): void => {
    for (const end = performance.now() + turnMs; performance.now() < end;);
    if (turnMs > 0) setImmediate(turn)
  }
  const busy = (ms: number): void => {
    if (turnMs === 0 && ms > 0) setImmediate(turn)
    turnMs = ms
  }
  const wait = async () => {
    const began = performance.now()
    const outcome = await ask().then(
      () => 'answered',
      (error: Error) => error.message,
    )
    return { outcome, ms: performance.now() - began }
  }
  const givenUp = 'Redis did not answer within 50 ms'
  child().kill('SIGSTOP')
  const idle = [await wait()]
  // Where processors are short it is late, however idle: then it waits for longer.
  while (idle.length < 20 && idle.every(({ ms }) => ms >= bound(70))) idle.push(await wait())
  child().kill('SIGCONT')
  for (const { outcome } of idle) t.equal(outcome, givenUp, 'the control: it is not busy')
  const fastestMs = Math.min(...idle.map(({ ms }) => ms))
  t.ok(fastestMs >= 49 && fastestMs < bound(70), `${fastestMs} ms`)
  await other.ping()
  await other.call('CLIENT', 'PAUSE', 200, 'ALL')
  busy(60)
  t.equal((await wait()).outcome, 'answered')
  child().kill('SIGSTOP')
  busy(20)
  const hung = await wait()
  busy(0)
  child().kill('SIGCONT')
  t.equal(hung.outcome, givenUp, 'one that hangs is given up nevertheless')
  t.ok(hung.ms < 7_000, `${hung.ms} ms`)
})

t.test('redis, a damaged quota hurts none that are asked with it', async (t) => {
  const { ask } = await quotasAt(t, 'damaged:')
  await ask('before')
  await client.set('damaged:quota:string', 'x')
  await client.hset('damaged:quota:nonsense', 'c', 'x')
  const before = await callsOf('evalsha')
  const names = ['sound', 'string', 'nonsense', 'sound', 'other']
  const answers = await Promise.allSettled(names.map(ask))
  t.equal(await callsOf('evalsha'), before + 1, 'all in one call')
  t.match(answers, [
    { value: { dayUsed: 1 } },
    { reason: /WRONGTYPE/ },
    { reason: /no counters/ },
    { value: { dayUsed: 2 } },
    { value: { dayUsed: 1 } },
  ])
  await client.config('SET', 'maxmemory', '1')
  const full = await Promise.allSettled(names.map(ask))
  t.match(full, Array(5).fill({ reason: /^ReplyError: OOM|OOM command not allowed/ }))
  await client.config('SET', 'maxmemory', '0')
  t.match(await ask('other'), { dayUsed: 2 }, 'what was refused as a whole counts nothing')
  const many = await Promise.all(Array.from({ length: 200 }, () => ask('many')))
  t.equal(
    many.filter(({ verdict }) => verdict === 'admitted').length,
    10,
    'more than one call takes',
  )
})

t.test('redis, what can’t be asked hurts none that are asked with it', async (t) => {
  const { store, ask } = await quotasAt(t, 'odd:')
  // As an app that is not written in TypeScript might.
  const bad = async () => store.decide('bad', json('{"key":"k","cost":1}') as unknown as Ask)
  await t.rejects(bad())
  const [first, refused, second, other] = await Promise.allSettled([
    ...[ask('alice'), bad(), ask('alice'), ask('bob')],
  ])
  t.match(
    [first, second, other],
    [{ value: { dayUsed: 1 } }, { value: { dayUsed: 2 } }, { value: { dayUsed: 1 } }],
  )
  t.match(refused, { status: 'rejected' })
  t.strictSame((await client.keys('odd:quota:*')).sort(), ['odd:quota:alice', 'odd:quota:bob'])
})

t.test('redis, a server of a Cluster that is not named as one', async (t) => {
  const { url, client } = await startRedis(t, '--cluster-enabled', 'yes')
  await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await until(async () =>
    ((await client.call('CLUSTER', 'INFO')) as string).includes('cluster_state:ok'),
  )
  const { ask } = await quotasAt(t, 'one-node:', { at: url })
  for (const used of [1, 2]) {
    const decisions = await Promise.all(['a', 'b', 'c'].map(ask))
    t.strictSame(
      decisions.map(({ dayUsed }) => dayUsed),
      [used, used, used],
    )
  }
})

t.test('redis is asked in one piece for all that comes at once', async (t) => {
  const wire = await startFaultProxy(t, port)
  const at = `redis://127.0.0.1:${wire.port}`
  const { ask } = await quotasAt(t, 'pieces:', { at, limit: 1_000 })
  await ask('q')
  const [before, calls] = [wire.pieces(), await callsOf('evalsha')]
  const decisions = await Promise.all(Array.from({ length: 64 }, () => ask('q')))
  t.equal(new Set(decisions.map(({ dayUsed }) => dayUsed)).size, 64)
  // Besides, a gateway tells that it is there.
  t.ok(wire.pieces() - before <= 4, `${wire.pieces() - before} pieces`)
  t.equal(await callsOf('evalsha'), calls + 1, 'in one call')
})

t.test('a list of the audit reads no further back than its first moment', async (t) => {
  const connection = await connectionTo(t, { url })
  const lists = redisLists({ connection, prefix: 'list:', timeoutMs: 2_000 })
  const change = { by: 'me', what: 'keys.change', before: null, after: null }
  const entries = Array.from({ length: 2_000 }, (_, atMs) => {
    return { key: `k${atMs % 1_000}`, body: JSON.stringify({ atMs, ...change }) }
  })
  await lists.add(auditList, entries)
  const audit = auditOn(lists)
  const reads = async (command: string, query: { fromMs: number; subject?: string }) => {
    const before = await callsOf(command)
    const found = await audit.list({ limit: 9, what: query.subject ? '' : 'config.', ...query })
    return [found.length, (await callsOf(command)) - before]
  }
  t.strictSame(
    await reads('xrevrange', { fromMs: 1_950 }),
    [0, 2],
    'once, and of loaded lines once',
  )
  t.strictSame(await reads('xrevrange', { fromMs: 0 }), [0, 6])
  t.strictSame(await reads('xrevrange', { fromMs: 0, subject: 'k7' }), [2, 0], 'of a key')
  t.strictSame(await reads('xrange', { fromMs: 0, subject: 'k7' }), [2, 2], 'its own alone')
})
t.test('days that are too old are forgotten', async (t) => {
  const database = openGatewayFile(join(folderOf(t), 'gateway.db'))
  t.teardown(() => database.close())
  const store = talliesOn(embeddedCounts(database))
  const tally = { key: 'a', what: 'x', count: 1, lastMs: 1 }
  for (const day of [100, 189, 190])
    await store.add({ by: 'g', number: day, lines: [{ day, ...tally }] })
  const days: number[] = []
  for await (const { day } of store.list(0, 1_000)) days.push(day)
  t.strictSame(days, [189, 190])

  const inRedis = { connection: await connectionTo(t, { url }), prefix: 'days:', timeoutMs: 2_000 }
  const batch = { by: 'g', number: 1, lines: [{ day: 1, ...tally }] }
  await talliesOn(redisCounts(inRedis)).add(batch)
  const twice = talliesOn(redisCounts(inRedis))
  await twice.add(batch)
  const texts = () => client.hgetall('days:{count:tallies:1}')
  t.match(await texts(), { a: '1;,x=1 1' }, 'a batch that is handed in again')
  const left = await client.ttl('days:{count:tallies:1}')
  t.ok(left > 90 * 86_400 && left <= 91 * 86_400, `Redis drops a day by itself, after ${left} s`)
  await twice.add({ by: 'g', number: 2, lines: [{ day: 91, ...tally }] })
  t.strictSame(await texts(), {}, 'and a gateway that begins a new one drops the oldest')
})

t.test('reports on 5,000 keys leave Redis to those who decide', async (t) => {
  const settings = { file: '', redis: { url }, prefix: 'many:', whenUnreachable: 'local' } as const
  const stores = await openStores({ ...settings, timeoutMs: 2_000 })
  t.teardown(() => stores.close())
  await stores.ready()
  const keys = Array.from({ length: 5_000 }, (_, i) => newKey({ name: `Customer ${i}` }))
  await stores.keys.add(keys)
  const [day, nowMs] = [Math.floor(Date.now() / dayMs), Date.now()]
  const called = { day, what: deprecatedCall('GET /x'), count: 1, lastMs: nowMs }
  for (const [i, { id: key }] of keys.entries()) {
    if (i % 1_000 > 0) continue
    const some = keys.slice(i, i + 1_000).flatMap(({ id: key }) => [
      { ...called, key },
      { ...called, key, what: 'admitted 2xx' },
    ])
    await stores.tallies.add({ by: key, number: 1, lines: some })
  }
  await Promise.all(
    keys.map(({ id }) =>
      client.zadd('many:bans', nowMs + 60_000, JSON.stringify([id, `key:${id}`])),
    ),
  )
  const { quotas } = desksFor({
    ...{ stores, clock: Date.now, by: 'me' },
    upstreams: new Map(),
    plans: new Map(),
  })
  const limits = { perMinute: 1e6, perDay: 1e6 }
  const reports = [
    () => usage(stores, { fromDay: day, toDay: day }),
    () => deprecatedCalls(stores, day, day),
    () => quotas.bans(),
  ]
  for (const report of reports) {
    const before = await callsOf('evalsha')
    let [isOver, decided] = [false, 0]
    const told = report().finally(() => (isOver = true))
    while (!isOver) {
      await stores.quota.decide('q', { key: 'k', cost: 1, limits })
      decided++
    }
    const found = await told
    t.equal(found.length, 5_000)
    t.ok(found.every(({ name }) => name.startsWith('Customer ')))
    const calls = (await callsOf('evalsha')) - before - decided
    t.ok(calls > 0 && calls <= 90, `${calls} calls for 5,000 names, with their tallies`)
    t.ok(decided > 0, `${decided} decisions meanwhile`)
  }
})

t.test('an error that speaks of the options of ioredis says what it means', (t) => {
  for (const what of ["Stream isn't writeable", "Cluster isn't ready"]) {
    const cause = new Error(`${what} and enableOfflineQueue options is false`)
    t.match(unavailable(cause), {
      message: 'the Redis of the configuration (store.redis) is out of reach',
      cause,
    })
  }
  t.end()
})
