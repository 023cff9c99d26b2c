import { join } from 'node:path'
import t, { type Test } from 'tap'
import { countsContract } from '../../../gateway/contracts/counts.ts'
import type { RedisSettings } from '../../../gateway/front/config/config.ts'
import { embeddedCounts } from '../../../gateway/front/stores/embedded/counts.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { redisCounts } from '../../../gateway/front/stores/redis/counts.ts'
import { folderOf } from '../../support/folder.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { startCluster, startRedis } from '../../support/redis.ts'

/** Declares the tests of a contract in another one. */
const within = (t: Test) => (name: string, run: () => Promise<void>) => t.test(name, run)

t.test('counts in a file', (t) => {
  const open = () => {
    const file = join(folderOf(t), 'gateway.db')
    const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
    for (const database of [one, two]) database.pragma('synchronous = OFF')
    const close = async () => [one, two].forEach((database) => database.close())
    return Promise.resolve({ first: embeddedCounts(one), second: embeddedCounts(two), close })
  }
  countsContract({ test: within(t), open })
  t.end()
})

async function triedInRedis(t: Test, settings: RedisSettings): Promise<void> {
  const connections = [await connectionTo(t, settings), await connectionTo(t, settings)]
  let opened = 0
  const open = () => {
    const prefix = `test${++opened}:`
    const [first, second] = connections.map((connection) =>
      redisCounts({ connection, prefix, timeoutMs: 2_000 }),
    )
    if (!first || !second) throw new Error('two were opened')
    return Promise.resolve({ first, second, close: () => Promise.resolve() })
  }
  countsContract({ test: within(t), open })
}

t.test('counts in Redis', async (t) => {
  const { url } = await startRedis(t)
  await triedInRedis(t, { url })
})

t.test('counts in a Cluster', async (t) => {
  const cluster = await startCluster(t)
  await triedInRedis(t, { cluster: cluster.nodes })
})
