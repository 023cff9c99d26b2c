import t, { type Test } from 'tap'
import { messagesContract } from '../../../gateway/contracts/messages.ts'
import type { RedisSettings } from '../../../gateway/front/config/config.ts'
import { ownMessages } from '../../../gateway/front/shelves/messages.ts'
import { redisMessages } from '../../../gateway/front/stores/redis/messages.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { startCluster, startRedis } from '../../support/redis.ts'

/** Declares the tests of a contract in another one. */
const within = (t: Test) => (name: string, run: () => Promise<void>) => t.test(name, run)

t.test('messages in a process that is alone with its store', (t) => {
  const open = () => {
    const messages = ownMessages()
    return Promise.resolve({ first: messages, second: messages, close: () => Promise.resolve() })
  }
  messagesContract({ test: within(t), open })
  t.end()
})

async function triedInRedis(t: Test, settings: RedisSettings): Promise<void> {
  const connections = [await connectionTo(t, settings), await connectionTo(t, settings)]
  let opened = 0
  const open = () => {
    const prefix = `test${++opened}:`
    const [first, second] = connections.map((connection) => redisMessages(connection, prefix))
    if (!first || !second) throw new Error('two were opened')
    const close = async () => [first, second].forEach((messages) => messages.close())
    return Promise.resolve({ first, second, close })
  }
  messagesContract({ test: within(t), open })
}

t.test('messages in Redis', async (t) => {
  const { url } = await startRedis(t)
  await triedInRedis(t, { url })
})

t.test('messages in a Cluster', async (t) => {
  const cluster = await startCluster(t)
  await triedInRedis(t, { cluster: cluster.nodes })
})
