import t from 'tap'
import { replay } from '../simulator/replay.ts'
import { trySeeds } from '../simulator/try-seeds.ts'
import { startRedis } from '../support/redis.ts'
import { connectionTo } from '../support/redis-stores.ts'

const seconds = Number(process.env['SIMULATE_SECONDS'] ?? 300)

t.setTimeout(0)

t.test('the protocol of counting holds its invariants, as a real Redis does it', async (t) => {
  t.setTimeout(0)
  const redis = await startRedis(t)
  const connection = await connectionTo(t, { url: redis.url })
  const tried = await trySeeds(seconds, 20_000, async (seed, happenings) => {
    const { difference } = await replay(happenings, connection, `seed${seed}:`)
    await redis.client.flushall()
    return difference
  })
  t.equal(tried.failure, undefined)
  t.ok(tried.replayed > 0)
  t.comment(tried)
})
