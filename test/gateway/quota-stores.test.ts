import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/config/config.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { EmbeddedQuotas } from '../../gateway/stores/embedded/quota.ts'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { redisQuotas } from '../../gateway/stores/redis/quota.ts'
import { quotaStoreContract, type MovableStore } from '../contracts/quota.ts'
import { startCluster, startRedis, startSentinel, until } from '../support/redis.ts'

async function inRedis(t: Test, settings: RedisSettings): Promise<MovableStore> {
  let now = 0
  const open = async () => {
    const connection = connect(settings, { timeoutMs: 2_000 })
    await until(() => connection.status === 'ready')
    const store = redisQuotas({
      connection,
      prefix: 'test:',
      timeoutMs: 2_000,
      testClock: () => now,
    })
    t.teardown(() => store.close())
    return store
  }
  return { store: await open(), setTime: (ms) => (now = ms), reopen: open }
}

quotaStoreContract(t, 'embedded, in memory and a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  let now = 0
  const open = () => new EmbeddedQuotas(openGatewayFile(file), { clock: () => now })
  let store = open()
  t.teardown(() => store.close())
  const reopen = async () => {
    await store.close()
    return (store = open())
  }
  return { store, setTime: (ms) => (now = ms), reopen }
})

t.test('embedded, a stop amid a saving of many counters leaves none behind', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const limits = { perMinute: 1_000, perDay: 1_000 }
  const store = new EmbeddedQuotas(openGatewayFile(file))
  const quotas = Array.from({ length: 5_000 }, (_, i) => `q${i}`)
  for (const quota of quotas) store.decide(quota, { key: 'k', cost: 1, limits })
  // A reset saves, in the background, and the stop comes in the midst of it.
  const reset = store.reset('q1')
  await store.close()
  await reset
  const again = new EmbeddedQuotas(openGatewayFile(file))
  t.teardown(() => again.close())
  const used = quotas.map((quota) => again.decide(quota, { key: 'k', cost: 0, limits }).dayUsed)
  t.equal(
    used.reduce((sum, each) => sum + each),
    4_999,
    'all but the one that was reset',
  )
})

t.test('embedded, a damaged row is a quota that begins anew, and hurts no other', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const store = new EmbeddedQuotas(openGatewayFile(file))
  for (const quota of ['good', 'bad', 'worse']) store.decide(quota, { key: 'k', cost: 3, limits })
  await store.close()
  const database = openGatewayFile(file)
  database.prepare(`UPDATE quotas SET state = 'garbage' WHERE quota = 'bad'`).run()
  database
    .prepare(`UPDATE quotas SET state = '{"day":"x","conducts":[]}' WHERE quota = 'worse'`)
    .run()
  database.close()
  const again = new EmbeddedQuotas(openGatewayFile(file))
  t.teardown(() => again.close())
  const used = (quota: string) => again.decide(quota, { key: 'k', cost: 0, limits }).dayUsed
  t.strictSame([used('good'), used('bad'), used('worse')], [3, 0, 0])
  await again.ban('bad', 'k', Date.now() + 60_000)
  t.match(await again.bans(), [{ quota: 'bad' }])
})

t.test('embedded, a stop waits for who has the file locked', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const store = new EmbeddedQuotas(openGatewayFile(file))
  const other = openGatewayFile(file)
  other.exec('BEGIN IMMEDIATE')
  store.decide('q', { key: 'k', cost: 3, limits })
  setTimeout(() => other.exec('ROLLBACK'), 300)
  await store.close()
  other.close()
  const again = new EmbeddedQuotas(openGatewayFile(file))
  t.teardown(() => again.close())
  t.equal(again.decide('q', { key: 'k', cost: 0, limits }).dayUsed, 3)
})

quotaStoreContract(t, 'redis, a single server', async (t) =>
  inRedis(t, { url: (await startRedis(t)).url }),
)

quotaStoreContract(t, 'redis, found by Sentinel', async (t) => {
  const { sentinel, name } = await startSentinel(t)
  return inRedis(t, { sentinels: [sentinel], name })
})

quotaStoreContract(t, 'redis, a Cluster', async (t) =>
  inRedis(t, { cluster: (await startCluster(t)).nodes }),
)
