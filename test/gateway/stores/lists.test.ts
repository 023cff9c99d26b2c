import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listsContract } from '../../../gateway/contracts/lists.ts'
import type { RedisSettings } from '../../../gateway/front/config/config.ts'
import { auditList } from '../../../gateway/front/records/audit-list.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedLists } from '../../../gateway/front/stores/embedded/lists.ts'
import { redisLists } from '../../../gateway/front/stores/redis/lists.ts'
import { folderOf } from '../../support/folder.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { startCluster, startRedis } from '../../support/redis.ts'

/** Declares the tests of a contract in another one. */
const within = (t: Test) => (name: string, run: () => Promise<void>) => t.test(name, run)

t.test('lists in a file', (t) => {
  const open = () => {
    let now = 0
    const file = join(folderOf(t), 'gateway.db')
    const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
    for (const database of [one, two]) database.pragma('synchronous = OFF')
    const [first, second] = [one, two].map((each) => embeddedLists(each, () => now))
    const close = async () => [one, two].forEach((database) => database.close())
    if (!first || !second) throw new Error('two were opened')
    return Promise.resolve({ first, second, setTime: (ms: number) => (now = ms), close })
  }
  listsContract({ test: within(t), open })
  t.end()
})

async function triedInRedis(t: Test, settings: RedisSettings) {
  const connections = [await connectionTo(t, settings), await connectionTo(t, settings)]
  let opened = 0
  const open = () => {
    let now = 0
    const prefix = `test${++opened}:`
    const [first, second] = connections.map((connection) =>
      redisLists({ connection, prefix, timeoutMs: 2_000, testClock: () => now }),
    )
    if (!first || !second) throw new Error('two were opened')
    return Promise.resolve({
      ...{ first, second, setTime: (ms: number) => (now = ms) },
      close: () => Promise.resolve(),
    })
  }
  listsContract({ test: within(t), open })
}

t.test('lists in Redis', async (t) => {
  const { url, client } = await startRedis(t)
  await triedInRedis(t, { url })
  t.test('the places of keys are as many as entries, by Redis’ clock', async (t) => {
    const lists = redisLists({ connection: client, prefix: 'p:', timeoutMs: 2_000 })
    const list = { ...auditList, most: 100 }
    const bodies = Array.from({ length: 50 }, (_, i) => ({ key: `k${i}`, body: `${i}` }))
    for (let i = 0; i < 40; i++) {
      await lists.add(list, bodies)
      t.ok((await client.strlen('p:{list:audit}:places')) <= 12 * 1.25 * list.most)
    }
    for await (const [entry, ...others] of lists.back(list, 'k7')) {
      t.match(entry, { key: 'k7', body: '7' })
      t.ok(others.length >= 1 && others.length <= 2, `${others.length} older ones`)
    }
    await client.set('p:{list:audit}:places', 'garbage of another program')
    for await (const found of lists.back(list, 'k7')) t.strictSame(found, [])
  })
})

t.test('lists in a Cluster', async (t) => {
  const cluster = await startCluster(t)
  await triedInRedis(t, { cluster: cluster.nodes })
})
