import { counted, numbersOf, withUsed } from '../../gateway/contracts/counters.ts'
import t, { type Test } from 'tap'
import { connect } from '../../gateway/front/stores/redis/connect.ts'
import { redisQuotas } from '../../gateway/front/stores/redis/quota.ts'
import type { Clock } from '../../shared/clock.ts'
import { dayMs } from '../../shared/windows.ts'
import { CachedRefusals, type DecisiveTerms } from '../../gateway/front/limits/cached-refusals.ts'
import { decisiveWindow } from '../../gateway/front/limits/headers.ts'
import { noLimits } from '../../gateway/front/limits/limits.ts'
import { operationPart } from '../../gateway/front/limits/parts.ts'
import { Quotas } from '../../gateway/front/limits/quotas.ts'
import type { QuotaStore } from '../../gateway/front/limits/store.ts'
import { startCluster, startRedis, type RedisServer } from '../support/redis.ts'
import { moveSlot } from '../support/slots.ts'
import { until } from '../support/until.ts'

t.test('over the edge of a minute no window admits more than its limit, nor fewer', async (t) => {
  const { url } = await startRedis(t)
  let now = Date.UTC(2026, 5, 15, 12, 0, 59)
  const stores = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const connection = connect({ url }, { timeoutMs: 5_000 })
      await until(() => connection.status === 'ready')
      const store = redisQuotas({
        connection,
        prefix: 'edge:',
        timeoutMs: 5_000,
        testClock: () => now,
      })
      t.teardown(() => connection.disconnect())
      return store
    }),
  )
  const admitted = new Map<number, number>()
  const limits = { perMinute: 100, perDay: 100_000 }
  for (let round = 0; round < 40; round++) {
    now += 97
    await Promise.all(
      Array.from({ length: 64 }, async (_, i) => {
        const decision = await stores[i % 4]?.decide('q', { key: 'k', cost: 1, limits })
        if (decision?.verdict !== 'admitted') return
        const { minute } = numbersOf(decision.seen)
        admitted.set(minute, (admitted.get(minute) ?? 0) + 1)
      }),
    )
  }
  t.strictSame([...admitted.values()], [100, 100])
})

t.test('while slots of a Cluster move nothing is admitted twice', async (t) => {
  const noon = Date.UTC(2026, 5, 15, 12)
  const { nodes, clients } = await startCluster(t)
  const connections = [1, 2].map(() => connect({ cluster: nodes }, { timeoutMs: 2_000 }))
  await until(() => connections.every(({ status }) => status === 'ready'))
  const stores = connections.map((connection) =>
    redisQuotas({ connection, prefix: 'move:', timeoutMs: 2_000, testClock: () => noon }),
  )
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  const stop = await moveSlot({ nodes, clients }, 'move:quota:q')
  const limits = { perMinute: 1_000, perDay: 100_000 }
  let [admitted, failed] = [0, 0]
  for (let round = 0; round < 120; round++) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        try {
          const decision = await stores[i % 2]?.decide('q', { key: 'k', cost: 1, limits })
          if (decision?.verdict === 'admitted') admitted++
        } catch {
          failed++
        }
      }),
    )
  }
  const moves = await stop()
  const after = await stores[0]?.decide('q', { key: 'k', cost: 0, limits })
  t.comment(`${moves} moves, ${admitted} of 6,000 admitted, ${failed} without an answer`)
  t.ok(moves >= 5, 'slots did move')
  t.equal(after && withUsed(after).minuteUsed, 1_000)
  t.ok(admitted <= 1_000 && admitted >= 1_000 - failed, 'what was counted was admitted')
  t.ok(failed <= 60)
})

const usualBans = {
  ...{ strikes: 2, withinMs: 60_000, graceMs: 100, forMs: 300_000 },
  ...{ factor: 2, atMostMs: 3_600_000, memoryMs: 1 },
}

t.test(
  'a Redis that has lost everything costs one request a gateway at most, and no ban',
  async (t) => {
    const redis: RedisServer = await startRedis(t)
    let now = Date.UTC(2026, 5, 15, 12, 0, 10)
    const terms = { limits: { perMinute: 60, perDay: 1_000 }, bans: usualBans }
    const gateways = await twoGateways(t, redis, () => now)
    const ask = async (i: number) => {
      const decision = await gateways[i % 2]?.decide(asker, terms, 1)
      return decision?.verdict
    }
    let admitted = 0
    for (let i = 0; i < 80; i++) {
      if (i === 31) await redis.client.flushall()
      if ((await ask(i)) === 'admitted') admitted++
    }
    t.comment(`${admitted} of 60 were admitted by two gateways`)
    t.ok(admitted >= 60 && admitted <= 61)
    now += 200
    await ask(0)
    t.equal(await ask(0), 'banned')
    await redis.client.flushall()
    await until(async () => (await ask(1)) === 'banned', 1_000)
    t.equal(await ask(0), 'banned', 'every gateway knows of the ban')
  },
)

t.test(
  'a minute that is used up is refused without a question, where it is no strike',
  async (t) => {
    const redis: RedisServer = await startRedis(t)
    const minute = Date.UTC(2026, 5, 15, 12)
    let now = minute + 10_000
    const terms = { limits: { perMinute: 3, perDay: 1_000 }, bans: undefined }
    const [one, two] = await twoGateways(t, redis, () => now)
    const raised = { ...terms, limits: { perMinute: 4, perDay: 1_000 } }
    const ask = async (gateway: Quotas | undefined, by: DecisiveTerms = terms, cost = 1) =>
      gateway?.decide(asker, by, cost)
    const questions = async () => {
      const found = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.client.info('commandstats'))
      return Number(found?.[1])
    }
    const verdicts: unknown[] = []
    for (let i = 0; i < 4; i++) verdicts.push((await ask(i % 2 ? one : two))?.verdict)
    t.strictSame(verdicts, ['admitted', 'admitted', 'admitted', 'refused'])

    const before = await questions()
    for (let i = 0; i < 50; i++) {
      const decision = await ask(one)
      const used = { minuteUsed: 3, dayUsed: 3 }
      t.match(decision && withUsed(decision), {
        verdict: 'refused',
        nowMs: now,
        ...used,
        bans: false,
      })
      now += 10
    }
    t.equal(await questions(), before, 'fifty refusals, and nobody was asked')
    now += 1_000
    t.equal((await ask(one))?.verdict, 'refused')
    t.equal(await questions(), before + 1, 'after a second there may be room again')
    t.equal((await ask(one, { ...terms, bans: usualBans }))?.verdict, 'refused')
    t.equal(await questions(), before + 2, 'what may be a strike is asked')
    t.equal((await ask(one, terms, 0))?.verdict, 'admitted', 'what costs nothing is let in')
    t.equal((await ask(one, raised))?.verdict, 'admitted', 'a limit that was raised has room')
    t.equal((await ask(one))?.verdict, 'refused')

    now = minute + 59_999
    t.equal((await ask(one))?.verdict, 'refused', 'the last millisecond is of the minute')
    now = minute + 60_000
    t.equal((await ask(one))?.verdict, 'admitted', 'the next is not')
    for (let i = 0; i < 3; i++) await ask(one)
    t.equal((await ask(one))?.verdict, 'refused')
    const operator = await storeOf(t, redis, () => now)
    await operator.reset('q')
    await until(async () => (await ask(one))?.verdict === 'admitted', 1_000)

    const cached = new CachedRefusals(1)
    const lower = { ...terms, limits: { perMinute: 1, perDay: 9 } }
    const refused = await two?.decide(asker, lower, 1)
    if (!refused) throw new Error('there are two')
    const noted = { seen: counted(refused.seen, { minute: 3 }), nowMs: minute + 119_500 }
    cached.note(asker, terms, { ...refused, ...noted })
    const at = (lagMs: number) =>
      cached.forFullWindow(asker, terms, 1, () => ({ nowMs: minute + 119_600, lagMs }))?.verdict
    t.equal(at(399), 'refused', 'the store may be later by as much as its answer took')
    t.equal(at(400), undefined, 'so the minute may be over there')
  },
)

t.test('a long window that is used up costs one question a second, and is no strike', async (t) => {
  const redis: RedisServer = await startRedis(t)
  const day = Date.UTC(2026, 5, 15)
  let now = day + 10_000
  const terms = { limits: { perMinute: 9, perDay: 3 }, bans: usualBans }
  const [one, two] = await twoGateways(t, redis, () => now)
  const ask = async (gateway: Quotas | undefined, by: DecisiveTerms = terms, cost = 1) =>
    (await gateway?.decide(asker, by, cost))?.verdict
  const questions = async () => {
    const found = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.client.info('commandstats'))
    return Number(found?.[1])
  }
  const flood = async (by: DecisiveTerms = terms, cost = 1) => {
    const before = await questions()
    for (let i = 0; i < 100; i++) t.equal(await ask(one, by, cost), 'refused')
    return (await questions()) - before
  }
  t.equal(await ask(one), 'admitted')
  t.equal(await ask(one), 'admitted')
  t.equal(await flood(terms, 2), 1, 'two points are refused')
  t.equal(await ask(one), 'admitted', 'one point has room, and is asked')
  t.equal(await flood(), 1)
  t.equal(await flood(), 0)
  now += 1_000
  t.equal(await flood(), 1, 'a second later it is asked again')
  now += 1_000
  t.equal(await flood({ ...terms, limits: { perMinute: 3, perDay: 3 } }), 1, 'a minute beside it')
  const decision = await one?.decide(asker, terms, 1)
  t.match(decision, { verdict: 'refused', strikes: 0, decidedBy: 'memory' })

  const operator = await storeOf(t, redis, () => now)
  t.equal(await operator.grant('q', { perDay: 1, by: 'eve' }), true)
  await until(async () => (await ask(one)) === 'admitted', 1_000)
  t.equal(await flood(), 1, 'also of a limit that was raised by a grant')
  const exports = { ...noLimits, perHour: 1 }
  const parts = [operationPart('exports', exports)]
  const more = { limits: { perMinute: 99, perDay: 99 }, bans: usualBans, parts }
  t.equal(await ask(one, more), 'admitted')
  t.equal(await flood(more), 1, 'an operation, too')
  const other = { ...more, parts: [operationPart('others', exports)] }
  t.equal(await ask(one, other), 'admitted', 'but no other one')
  const month = { ...noLimits, perMonth: 1 }
  const both = {
    ...{ limits: { perMinute: 99, perDay: 6 }, bans: usualBans },
    parts: [operationPart('m', month)],
  }
  t.equal(await ask(one, both), 'admitted')
  now += 1_000
  t.equal(await ask(one, { ...both, parts: undefined }), 'refused', 'the day is used up, too')
  const longest = await one?.decide(asker, both, 1)
  const shown = longest && decisiveWindow(longest, both.limits)?.window.name
  t.equal(shown, 'month', 'a part that isn’t in memory may refuse for longer')
  now = day + dayMs - 1
  t.equal(await ask(two), 'refused')
  now = day + dayMs
  t.equal(await ask(two), 'admitted', 'never beyond the end of the window')
})

const asker = { id: 'k', quota: 'q' }

async function twoGateways(t: Test, redis: RedisServer, clock: Clock): Promise<Quotas[]> {
  const gateways = await Promise.all(
    [1, 2].map(async () => {
      const store = await storeOf(t, redis, clock)
      return new Quotas({ store, whenUnreachable: 'local', clock, ticks: clock })
    }),
  )
  t.teardown(() => gateways.forEach((gateway) => gateway.close()))
  const told = async () => Number((await redis.client.pubsub('NUMSUB', 'lost:bans:told'))[1])
  await until(async () => (await told()) === gateways.length)
  return gateways
}

async function storeOf(t: Test, redis: RedisServer, testClock: Clock): Promise<QuotaStore> {
  const connection = connect({ url: redis.url }, { timeoutMs: 2_000 })
  await until(() => connection.status === 'ready')
  const store = redisQuotas({ connection, prefix: 'lost:', timeoutMs: 2_000, testClock })
  t.teardown(async () => {
    await store.close()
    connection.disconnect()
  })
  return store
}
