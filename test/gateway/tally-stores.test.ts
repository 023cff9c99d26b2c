import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/config/config.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedTallies } from '../../gateway/stores/embedded/tallies.ts'
import { dayMs } from '../../gateway/limits/step.ts'
import { desksFor } from '../../gateway/operations/desks.ts'
import { deprecatedCall, deprecatedCalls } from '../../gateway/records/deprecated-calls.ts'
import { usage } from '../../gateway/records/usage.ts'
import { openStores } from '../../gateway/stores/open.ts'
import { newKey } from '../contracts/keys.ts'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { redisTallies } from '../../gateway/stores/redis/tallies.ts'
import { embeddedAudit } from '../../gateway/stores/embedded/audit.ts'
import { redisAudit } from '../../gateway/stores/redis/audit.ts'
import { auditStoreContract } from '../contracts/audit.ts'
import { tallyStoreContract } from '../contracts/tallies.ts'
import { startCluster, startRedis, until } from '../support/redis.ts'

async function redisViews(t: Test, settings: RedisSettings) {
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 2_000 }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  await until(() => connections.every(({ status }) => status === 'ready'))
  const [first, second] = connections.map((connection) =>
    redisTallies({ connection, prefix: 'test:', timeoutMs: 2_000 }),
  )
  if (!first || !second) throw new Error('two were asked for')
  return { first, second }
}

void tallyStoreContract(t, 'embedded, in a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
  t.teardown(() => [one, two].forEach((database) => database.close()))
  return Promise.resolve({ first: embeddedTallies(one), second: embeddedTallies(two) })
})

void tallyStoreContract(t, 'redis, a single server', async (t) =>
  redisViews(t, { url: (await startRedis(t)).url }),
)

void tallyStoreContract(t, 'redis, a Cluster', async (t) =>
  redisViews(t, { cluster: (await startCluster(t)).nodes }),
)

void auditStoreContract(t, 'embedded, in a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
  for (const database of [one, two]) database.pragma('synchronous = OFF')
  t.teardown(() => [one, two].forEach((database) => database.close()))
  return Promise.resolve({ first: embeddedAudit(one), second: embeddedAudit(two) })
})

void auditStoreContract(t, 'redis, a single server', async (t) => {
  const { url } = await startRedis(t)
  const connections = [1, 2].map(() => connect({ url }, { timeoutMs: 2_000 }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  await until(() => connections.every(({ status }) => status === 'ready'))
  const [first, second] = connections.map((connection) => redisAudit(connection, 'test:'))
  if (!first || !second) throw new Error('two were asked for')
  return { first, second }
})

t.test('days that are too old are forgotten', async (t) => {
  const database = openGatewayFile(join(t.testdir(), 'gateway.db'))
  t.teardown(() => database.close())
  const store = embeddedTallies(database)
  const tally = { key: 'a', what: 'x', count: 1, lastMs: 1 }
  for (const day of [100, 189, 190]) await store.add(String(day), [{ day, ...tally }])
  const days: number[] = []
  for await (const { day } of store.list(0, 1_000)) days.push(day)
  t.strictSame(days, [189, 190])

  const { url, client } = await startRedis(t)
  const connection = connect({ url }, { timeoutMs: 2_000 })
  t.teardown(() => connection.disconnect())
  await until(() => connection.status === 'ready')
  await redisTallies({ connection, prefix: 'p:', timeoutMs: 2_000 }).add('1', [
    { day: 1, ...tally },
  ])
  const twice = redisTallies({ connection, prefix: 'p:', timeoutMs: 2_000 })
  await twice.add('1', [{ day: 1, ...tally }])
  t.equal(await client.hget('p:{tallies:1}', 'count a x'), '1', 'a batch that is handed in again')
  const left = await client.ttl('p:{tallies:1}')
  t.ok(left > 90 * 86_400 && left <= 91 * 86_400, `Redis drops a day by itself, after ${left} s`)
})

t.test('reports on 5,000 keys leave Redis to those who decide', async (t) => {
  const { url, client } = await startRedis(t)
  const settings = { file: '', redis: { url }, prefix: 'p:', whenUnreachable: 'local' } as const
  const stores = openStores({ ...settings, timeoutMs: 2_000 })
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
    await stores.tallies.add(key, some)
  }
  await Promise.all(
    keys.map(({ id }) => client.zadd('p:bans', nowMs + 60_000, JSON.stringify([id, `key:${id}`]))),
  )
  const { quotas } = desksFor({ stores, plans: new Map(), clock: Date.now, by: 'me' })
  const limits = { perMinute: 1e6, perDay: 1e6 }
  const callsOf = async (command: string) =>
    Number(
      new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await client.info('commandstats'))?.[1] ??
        0,
    )
  const reports = [
    () => usage(stores, { fromDay: day, toDay: day }),
    () => deprecatedCalls(stores, day, day),
    () => quotas.bans(),
  ]
  for (const report of reports) {
    const before = (await callsOf('evalsha')) + (await callsOf('hmget'))
    let [isOver, decided] = [false, 0]
    const told = report().finally(() => (isOver = true))
    while (!isOver) {
      await stores.quota.decide('q', { key: 'k', cost: 1, limits })
      decided++
    }
    const found = await told
    t.equal(found.length, 5_000)
    t.ok(found.every(({ name }) => name.startsWith('Customer ')))
    const calls = (await callsOf('evalsha')) + (await callsOf('hmget')) - before - decided
    t.ok(calls > 0 && calls <= 60, `${calls} calls for 5,000 names`)
    t.ok(decided > 0, `${decided} decisions meanwhile`)
  }
})
