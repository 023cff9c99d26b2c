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
    const store = redisQuotas(connection, 'test:', () => now)
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
