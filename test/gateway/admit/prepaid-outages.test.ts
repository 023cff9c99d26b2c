import t, { type Test } from 'tap'
import type { DecisiveTerms } from '../../../gateway/front/limits/cached-refusals.ts'
import { unanswered } from '../../../gateway/front/limits/counters.ts'
import { noLimits } from '../../../gateway/front/limits/limits.ts'
import type { WhenUnreachable } from '../../../gateway/front/limits/offline-limiter.ts'
import { Quotas } from '../../../gateway/front/limits/quotas.ts'
import type { QuotaStore } from '../../../gateway/front/limits/store.ts'
import { redisQuotas } from '../../../gateway/front/stores/redis/quota.ts'
import { StoreUnavailable } from '../../../shared/store-errors.ts'
import { dayMs, windowOf } from '../../../shared/windows.ts'
import { startRedis } from '../../support/redis.ts'
import { connectionTo } from '../../support/redis-stores.ts'

const redis = await startRedis(t)
const noon = Date.UTC(2026, 5, 15, 12, 30)
const month = windowOf('month')
/** Ten points a month, and those that were bought. */
const terms = {
  ...{ limits: noLimits, included: { ...noLimits, perMonth: 10 }, prepaid: month },
  bans: undefined,
}
let quotas = 0

/** Two gateways that share a quota with bought points, and can be cut off from its Redis. */
async function fleetWith(t: Test, bought: number, whenUnreachable: WhenUnreachable = 'local') {
  let [isDown, now] = [false, noon]
  const connection = await connectionTo(t, { url: redis.url })
  const store = redisQuotas({
    ...{ connection, prefix: 'outage:', timeoutMs: 5_000, testClock: () => now },
  })
  const cut = <Result>(ask: () => Promise<Result> | Result) =>
    isDown ? Promise.reject(new StoreUnavailable('it is cut off')) : ask()
  const cuttable: QuotaStore = {
    ...store,
    decide: (...asked) => cut(() => store.decide(...asked)),
    adjust: (...asked) => cut(() => store.adjust(...asked)),
  }
  const quota = `q${++quotas}`
  const clock = () => now
  const gateways = [0, 1].map(() => {
    const gateway = new Quotas({
      ...{ store: cuttable, whenUnreachable, clock, ticks: clock },
      gateways: () => 2,
    })
    t.teardown(() => gateway.close())
    const ask = async (cost = 1, others: Partial<DecisiveTerms> = {}) =>
      gateway.decide({ id: 'k', quota }, { ...terms, ...others }, cost)
    const admits = async (times: number) => {
      let admitted = 0
      for (let i = 0; i < times; i++) if ((await ask()).verdict === 'admitted') admitted++
      return admitted
    }
    return { gateway, ask, admits }
  })
  const [first, second] = gateways
  if (!first || !second) throw new Error('there are two')
  const topUp = (points: number, id = 'one') => store.topUp(quota, { id, points, by: 'a' })
  if (bought > 0) await topUp(bought)
  return {
    ...{ first, second, topUp, quota },
    cutOff: () => void (isDown = true),
    setTime: (ms: number) => void (now = ms),
    reconnect: async () => {
      isDown = false
      for (let i = 0; i < 4; i++) for (const { gateway } of gateways) await gateway.settle()
    },
    /** The points that are left, included and bought, and those of the day in the ledger, with those that were bought. */
    books: async () => {
      const { purse } = await store.decide(quota, { key: 'k', cost: 0, ...terms })
      if (!purse) throw new Error('there is a purse')
      for await (const some of store.points(Math.floor(now / dayMs))) {
        for (const { points, beyond = 0, ...each } of some) {
          if (each.quota === quota) return [purse.room, purse.bought - purse.spent, points, beyond]
        }
      }
      return [purse.room, purse.bought - purse.spent, 0, 0]
    },
  }
}

t.test(
  'each gateway lets in its part of included and bought points, as it knew them',
  async (t) => {
    const { first, second, cutOff, reconnect, books, topUp } = await fleetWith(t, 21)
    t.equal(await first.admits(4), 4)
    await second.ask(0)
    cutOff()
    t.equal(await first.admits(20), 3 + 11, 'half of six and of 21, rounded up')
    t.equal(await second.admits(20), 3 + 11)
    t.equal(await first.admits(2), 0)
    await reconnect()
    t.strictSame(await books(), [0, -1, 32, 22], 'one more than was bought, and it is told')
    t.equal(await first.admits(2), 0)
    await topUp(3, 'two')
    t.equal(await second.admits(4), 2, 'the next top-up pays it')
    t.strictSame(await books(), [0, 0, 34, 24])
  },
)

t.test('a gateway that never asked lets in its part of the included points alone', async (t) => {
  const { first, second, cutOff, reconnect, books } = await fleetWith(t, 21)
  await first.ask(0)
  cutOff()
  t.equal(await second.admits(9), 5)
  await reconnect()
  t.strictSame(await books(), [5, 21, 5, 0])
})

t.test('what comes back or costs more in an outage is paid exactly', async (t) => {
  const { first, quota, cutOff, reconnect, books, setTime } = await fleetWith(t, 40)
  const { gateway, ask } = first
  const before = await ask(12)
  t.match(before, { verdict: 'admitted', purse: { took: 2 } })
  cutOff()
  const [dearer, failed] = [await ask(6), await ask(5)]
  t.match(dearer, { decidedBy: 'alone', purse: { took: 6 } })
  await gateway.adjust(quota, dearer, { points: 3, isAnswered: true })
  await gateway.adjust(quota, failed, unanswered(5))
  await gateway.adjust(quota, before, { points: 1, isAnswered: true })
  await reconnect()
  t.strictSame(await books(), [0, 40 - 2 - 6 - 3 - 1, 12 + 6 + 3 + 1, 12])
  cutOff()
  const late = await ask(7)
  setTime(Date.UTC(2026, 6, 1))
  await gateway.adjust(quota, late, unanswered(7))
  await reconnect()
  t.strictSame(await books(), [10, 28, 0, 0], 'after the end of its month, too')
})

t.test('what a former month took of the purse isn’t this one’s', async (t) => {
  const { first, cutOff, reconnect, books, setTime } = await fleetWith(t, 20)
  t.match(await first.ask(14), { purse: { took: 4 } })
  setTime(Date.UTC(2026, 6, 1))
  // By a key of the account with another plan.
  await first.ask(1, { included: noLimits, prepaid: undefined })
  cutOff()
  t.equal(await first.admits(20), 5 + 8)
  await reconnect()
  t.strictSame(await books(), [4, 8, 14, 8])
})

t.test('a part is a part, though an answer’s cost couldn’t be told before', async (t) => {
  const { first, quota, cutOff, reconnect, books } = await fleetWith(t, 20)
  const admitted = await first.ask(10)
  cutOff()
  await first.gateway.adjust(quota, admitted, { points: 2, isAnswered: true })
  t.equal(await first.admits(20), 8, 'half of 20, less what it has cost more')
  await reconnect()
  t.strictSame(await books(), [0, 10, 20, 10])
})

t.test('a gateway that lets all in takes of the purse what is there', async (t) => {
  const { first, cutOff, reconnect, books } = await fleetWith(t, 5, 'allow')
  t.equal(await first.admits(8), 8)
  cutOff()
  t.equal(await first.admits(20), 20)
  await reconnect()
  t.strictSame(await books(), [0, 0, 15, 5], 'and the rest is let in above it, uncounted')
})

t.test('… and so does each other one', async (t) => {
  const { first, second, cutOff, reconnect, books } = await fleetWith(t, 5, 'allow')
  t.equal(await first.admits(8), 8)
  await second.ask(0)
  cutOff()
  t.equal(await first.admits(20), 20)
  t.equal(await second.admits(20), 20)
  await reconnect()
  t.strictSame(await books(), [0, -5, 22, 10])
})

t.test('a gateway that lets nothing in takes nothing', async (t) => {
  const { first, cutOff, reconnect, books } = await fleetWith(t, 5, 'deny')
  t.equal(await first.admits(8), 8)
  cutOff()
  t.match(await first.ask(), { verdict: 'unavailable' })
  await reconnect()
  t.strictSame(await books(), [2, 5, 8, 0])
})
