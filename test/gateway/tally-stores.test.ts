import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/config/config.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedTallies } from '../../gateway/stores/embedded/tallies.ts'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { redisTallies } from '../../gateway/stores/redis/tallies.ts'
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
