import { join } from 'node:path'
import t, { type Test } from 'tap'
import { documentsContract } from '../../../gateway/contracts/documents.ts'
import type { RedisSettings } from '../../../gateway/front/config/config.ts'
import { embeddedDocuments } from '../../../gateway/front/stores/embedded/documents.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { redisDocuments } from '../../../gateway/front/stores/redis/documents.ts'
import { folderOf } from '../../support/folder.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { startCluster, startRedis } from '../../support/redis.ts'

/** Declares the tests of a contract in another one. */
const within = (t: Test) => (name: string, run: () => Promise<void>) => t.test(name, run)

t.test('documents in a file', (t) => {
  const open = () => {
    let now = 0
    const file = join(folderOf(t), 'gateway.db')
    const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
    const [first, second] = [one, two].map((each) => embeddedDocuments(each, () => now))
    const close = async () => [one, two].forEach((database) => database.close())
    if (!first || !second) throw new Error('two were opened')
    return Promise.resolve({ first, second, setTime: (ms: number) => (now = ms), close })
  }
  documentsContract({ test: within(t), open })
  t.end()
})

async function triedInRedis(t: Test, settings: RedisSettings) {
  const connections = [await connectionTo(t, settings), await connectionTo(t, settings)]
  let opened = 0
  const open = () => {
    let now = 0
    const prefix = `test${++opened}:`
    const [first, second] = connections.map((connection) =>
      redisDocuments({ connection, prefix, timeoutMs: 2_000, testClock: () => now }),
    )
    if (!first || !second) throw new Error('two were opened')
    return Promise.resolve({
      ...{ first, second, setTime: (ms: number) => (now = ms) },
      close: () => Promise.resolve(),
    })
  }
  documentsContract({ test: within(t), open })
}

t.test('documents in Redis', async (t) => {
  const redis = await startRedis(t)
  await triedInRedis(t, { url: redis.url })
  t.test('a folder ends with its last document', async (t) => {
    const documents = redisDocuments({ connection: redis.client, prefix: 'e:', timeoutMs: 2_000 })
    for (const keptMs of [50_000, 9_000_000, 10])
      await documents.put('f', `${keptMs}`, '', { keptMs })
    const leftMs = await redis.client.pttl('e:{documents:f}')
    t.ok(leftMs > 8_000_000 && leftMs <= 9_000_000, `${leftMs}`)
  })
  t.test('a text that isn’t a document counts as none', async (t) => {
    const documents = redisDocuments({ connection: redis.client, prefix: 'o:', timeoutMs: 2_000 })
    for (const text of ['', 'text', '1', '1 2', '\n', '9e15 1e300\n', `1 ${'9'.repeat(400)}`]) {
      await redis.client.hset('o:{documents:f}', { odd: text, also: text })
      t.strictSame((await documents.list('f')).documents, [], text)
      await redis.client.hset('o:{documents:f}', 'odd', text)
      t.equal(await documents.get('f', 'odd'), undefined)
      t.equal(await documents.put('f', 'odd', 'x', { keptMs: 9_000, version: 0 }), true)
      t.equal((await documents.get('f', 'odd'))?.version, 1)
    }
  })
})

t.test('documents in a Cluster', async (t) => {
  const cluster = await startCluster(t)
  await triedInRedis(t, { cluster: cluster.nodes })
})
