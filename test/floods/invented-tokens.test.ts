import type { Redis } from 'ioredis'
import t from 'tap'
import { json } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'

t.test('invented tokens, from one address and from many, fill no memory', async (t) => {
  const flood = startProcess(t, 'test/support/flood.ts')
  t.equal((await flood.ended).code, 0, flood.output())
  const { grownMb, recalled, keys } = json(flood.stdout())
  t.comment(`memory grew by ${Number(grownMb).toFixed()} MB`)
  // Of a quarter of a million; 80 bytes of each would be more.
  t.ok(Number(grownMb) <= 20)
  t.equal(recalled, true, 'the good key is still there')
  t.equal(keys, 1, 'and nothing was written')
})

t.test(
  'a hundred thousand addresses that are counted by a fleet fill no memory of it',
  async (t) => {
    const { url, client } = await startRedis(t)
    const before = await memoryOf(client)
    const flood = startProcess(t, 'test/support/flood.ts', { args: [url] })
    const names = new Set<string>()
    const look = async () => {
      for (const name of await client.keys('tollgate:strangers:*')) names.add(name)
    }
    // On a busy machine the flood outlasts counts, which end five seconds after their minute.
    const looking = setInterval(() => void look(), 1_000)
    t.teardown(() => clearInterval(looking))
    t.equal((await flood.ended).code, 0, flood.output())
    clearInterval(looking)
    await look()
    const { grownMb, lastedMs } = json(flood.stdout())
    const redisMb = ((await memoryOf(client)) - before) / 2 ** 20
    t.comment(
      `${Number(grownMb).toFixed()} MB here, ${redisMb.toFixed(1)} there: ${names.size} counts`,
    )
    // Of 125,000 addresses; 280 bytes of each would be more.
    t.ok(Number(grownMb) <= 35)
    const most = 100 * (Math.ceil(Number(lastedMs) / 100) + 2)
    t.ok(
      names.size > 100 && names.size <= most,
      `${names.size}, at most a thousand a second: ${most}`,
    )
    t.ok(redisMb < 2 + (names.size * 200) / 2 ** 20)
    const rests = await Promise.all([...names].map((name) => client.ttl(name)))
    t.notOk(rests.includes(-1), 'each ends')
    const ofTheDay = [...names].filter((name) => name.includes(':day:'))
    t.ok(ofTheDay.length <= 2, 'one request leaves nothing for a day')
  },
)

async function memoryOf(client: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
}
