import t from 'tap'
import { redisQuotas } from '../../../gateway/front/stores/redis/quota.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

t.test('a ban in Redis is told with any name, and no other text bans anybody', async (t) => {
  const { url, client } = await startRedis(t)
  const connection = await connectionTo(t, { url })
  const store = redisQuotas({ connection, prefix: 'bans:', timeoutMs: 2_000 })
  t.teardown(() => store.close())
  const heard: unknown[] = []
  let forgiven = 0
  t.teardown(store.watch({ banned: (ban) => heard.push(ban), forgiven: () => forgiven++ }))
  const channel = 'bans:bans:told'
  await until(async () => Number((await client.pubsub('NUMSUB', channel))[1]) === 1)
  const untilMs = Date.now() + 60_000
  for (const message of [`${untilMs} VICTIM k`, '[1', '{}', '[]', `[${untilMs},"VICTIM",{}]`])
    await client.publish(channel, message)
  const name = `${untilMs} VICTIM "is" my name`
  await store.ban(name, name, untilMs)
  await until(() => heard.length === 1)
  t.strictSame(heard, [{ key: name, quota: name, untilMs }])
  // The look at the latest lift may tell of it as well.
  t.ok(forgiven >= 1)
  t.match(await store.bans(), [{ key: name, quota: name, untilMs }])
})
