import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/front/config/config.ts'
import { noLimits } from '../../gateway/front/limits/limits.ts'
import { Quotas } from '../../gateway/front/limits/quotas.ts'
import type { QuotaStore } from '../../gateway/front/limits/store.ts'
import { redisQuotas } from '../../gateway/front/stores/redis/quota.ts'
import { dayMs, windowOf } from '../../shared/windows.ts'
import { startCluster, startRedis, startSentinel } from '../support/redis.ts'
import { connectionTo } from '../support/redis-stores.ts'
import { until } from '../support/until.ts'

const quota = 'acme'

/** A window of ten points, and those that were bought. */
function termsOf(name: 'week' | 'month') {
  const prepaid = windowOf(name)
  return {
    ...{ limits: noLimits, included: { ...noLimits, [prepaid.limit]: 10 }, prepaid },
    bans: undefined,
  }
}

/** Gateways on one Redis, each with a connection of its own. */
async function gatewaysOn(t: Test, settings: RedisSettings, count: number, clock = Date.now) {
  const stores = await Promise.all(
    Array.from({ length: count }, async () => {
      const connection = await connectionTo(t, settings)
      return redisQuotas({ connection, prefix: 'faults:', timeoutMs: 20_000, testClock: clock })
    }),
  )
  const gateways = stores.map(
    (store) => new Quotas({ store, whenUnreachable: 'deny', clock, ticks: clock }),
  )
  t.teardown(() => gateways.forEach((gateway) => gateway.close()))
  const [store] = stores
  if (!store) throw new Error('there is one')
  const ask = async (at: number, cost = 1, name: 'week' | 'month' = 'month') => {
    const decision = await gateways[at % count]?.decide({ id: 'k', quota }, termsOf(name), cost)
    if (!decision) throw new Error('there is no gateway')
    return decision
  }
  /** How many of some at once are let in. */
  const admits = async (times: number, name?: 'week' | 'month') => {
    const asked = Array.from({ length: times }, (_, i) => ask(i, 1, name))
    return (await Promise.all(asked)).filter(({ verdict }) => verdict === 'admitted').length
  }
  /** Waits until the store answers all of them again. */
  const back = async () => {
    for (let at = 0; at < count; at++) {
      await until(async () => (await ask(at, 0)).decidedBy === 'store', 20_000)
    }
  }
  return { store, ask, admits, back }
}

function buy(store: QuotaStore, points: number, id: string) {
  return store.topUp(quota, { id, points, by: 'a' })
}

/** The bought points that are left, as a gateway is told. */
async function left(asked: Promise<Awaited<ReturnType<Quotas['decide']>>>): Promise<number> {
  const { purse, decidedBy } = await asked
  if (!purse || decidedBy !== 'store') throw new Error(`decided by ${decidedBy}`)
  return purse.bought - purse.spent
}

async function isExact(t: Test, settings: RedisSettings): Promise<void> {
  let now = 0
  const { store, ask, admits } = await gatewaysOn(t, settings, 4, () => now)
  for (const [name, end] of [
    ['week', Date.UTC(2027, 5, 7)],
    ['month', Date.UTC(2028, 2, 1)],
  ] as const) {
    now = end - 2 * dayMs
    await store.reset(quota)
    await buy(store, 37, name)
    let [room, bought] = [10, await left(ask(0, 0, name))]
    const times = [end - dayMs, end - 1, end, end + 1, end + 1_000, end + dayMs]
    for (const [i, time] of times.entries()) {
      now = time
      if (time === end) room = 10
      const count = [6, 20, 8, 12, 5, 30][i] ?? 0
      const expected = Math.min(count, room + bought)
      const admitted = await admits(count, name)
      const taken = Math.max(0, expected - room)
      room -= expected - taken
      bought -= taken
      t.equal(admitted, expected, `${name}, ${new Date(time).toISOString()}`)
    }
    t.equal(bought, 0)
    t.equal(await left(ask(1, 0, name)), 0)
  }
}

t.test(
  'over the ends of weeks and months four gateways let in what is included and bought',
  async (t) => {
    await isExact(t, { url: (await startRedis(t)).url })
  },
)

t.test('… and on a Cluster', async (t) => {
  await isExact(t, { cluster: (await startCluster(t)).nodes })
})

t.test('a Redis that is killed and comes back has lost nothing of a purse', async (t) => {
  const redis = await startRedis(t, '--appendonly', 'yes', '--appendfsync', 'everysec')
  const { store, ask, back } = await gatewaysOn(t, { url: redis.url }, 2)
  await buy(store, 20, 'one')
  t.match(await ask(0, 12), { purse: { took: 2 } })
  await ask(1, 3)
  await redis.kill()
  await redis.restart()
  await back()
  t.equal(await left(ask(1, 0)), 15)
  t.match(await buy(store, 20, 'one'), { outcome: 'again' })
})

t.test('an emptied Redis has what gateways have seen of a purse again, and no ids', async (t) => {
  const redis = await startRedis(t)
  const { store, ask } = await gatewaysOn(t, { url: redis.url }, 2)
  await buy(store, 20, 'one')
  await ask(0, 12)
  await ask(1, 3)
  await buy(store, 7, 'two')
  await redis.client.flushall()
  t.equal(await left(ask(0, 1)), 17, 'it had asked before the other took 3')
  t.equal(await left(ask(1, 1)), 15 - 1, 'and that one brings them')
  t.strictSame(await store.topUps(quota), [])
  t.match(
    await buy(store, 7, 'two'),
    { outcome: 'done', topUp: { left: 21 } },
    'nobody had seen it',
  )
  t.match(await buy(store, 20, 'one'), { outcome: 'done', topUp: { left: 41 } }, 'it counts twice')
})

t.test(
  'a fail-over loses no top-up that was answered, and no points that a gateway has seen',
  async (t) => {
    const { sentinel, name, servers } = await startSentinel(t)
    const [master, replica] = servers
    if (!master || !replica) return
    const { store, ask, back } = await gatewaysOn(t, { sentinels: [sentinel], name }, 2)
    t.match(await buy(store, 20, 'one'), { outcome: 'done' })
    replica.child().kill('SIGSTOP')
    await t.rejects(buy(store, 9, 'two'), /no replica of Redis had “two” .* repeat it by its id/)
    replica.child().kill('SIGCONT')
    t.match(await buy(store, 9, 'two'), { outcome: 'again' }, 'it is there by then')
    replica.child().kill('SIGSTOP')
    t.match(await ask(0, 14), { purse: { took: 4 } })
    await master.kill()
    replica.child().kill('SIGCONT')
    await until(async () => String(await replica.client.call('ROLE')).startsWith('master'), 20_000)
    await back()
    t.equal(await left(ask(1, 0)), 25)
    const all = await store.topUps(quota)
    t.strictSame(
      all.map(({ id }) => id),
      ['one', 'two'],
    )
    t.match(await buy(store, 9, 'two'), { outcome: 'again' })
  },
)
