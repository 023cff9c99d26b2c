import t, { type Test } from 'tap'
import { noLimits } from '../../../gateway/front/limits/limits.ts'
import type { WhenUnreachable } from '../../../gateway/front/limits/offline-limiter.ts'
import { operationPart } from '../../../gateway/front/limits/parts.ts'
import { Quotas } from '../../../gateway/front/limits/quotas.ts'
import type { Decision } from '../../../gateway/front/limits/step.ts'
import type { QuotaStore } from '../../../gateway/front/limits/store.ts'
import { StoreUnavailable } from '../../../shared/store-errors.ts'
import { redisQuotas } from '../../../gateway/front/stores/redis/quota.ts'
import { dayMs, hourMs, windowOf } from '../../../shared/windows.ts'
import { withUsed } from '../../../gateway/contracts/counters.ts'
import { startRedis } from '../../support/redis.ts'
import { connectionTo } from '../../support/redis-stores.ts'

const redis = await startRedis(t)
const noon = Date.UTC(2026, 5, 15, 12, 30)
const ends = {
  hour: Date.UTC(2026, 5, 15, 13),
  day: Date.UTC(2026, 5, 16),
  month: Date.UTC(2026, 6, 1),
}
const names = ['hour', 'day', 'month'] as const
let quotas = 0

/** A gateway that can be cut off from its Redis, with ten requests in one window, and one that shares it. */
async function fleetWith(
  t: Test,
  name: (typeof names)[number],
  whenUnreachable: WhenUnreachable = 'local',
) {
  let [now, isDown] = [noon, false]
  const open = async () => {
    const connection = await connectionTo(t, { url: redis.url })
    const testClock = () => now
    return redisQuotas({ connection, prefix: 'outage:', timeoutMs: 5_000, testClock })
  }
  const [own, store] = [await open(), await open()]
  const cut = <Result>(ask: () => Promise<Result> | Result) =>
    isDown ? Promise.reject(new StoreUnavailable('it is cut off')) : ask()
  const cuttable: QuotaStore = {
    ...own,
    decide: (...asked) => cut(() => own.decide(...asked)),
    adjust: (...asked) => cut(() => own.adjust(...asked)),
  }
  const clock = () => now
  const gateway = new Quotas({
    ...{ store: cuttable, whenUnreachable, clock, ticks: clock },
    gateways: () => 2,
  })
  t.teardown(() => gateway.close())
  const quota = `q${++quotas}`
  const terms = {
    limits: { perMinute: Infinity, perDay: Infinity, [windowOf(name).limit]: 10 },
    bans: undefined,
  }
  const ask = async (cost = 1): Promise<Decision> => gateway.decide({ id: 'k', quota }, terms, cost)
  const admits = async (times: number) => {
    let admitted = 0
    for (let i = 0; i < times; i++) if ((await ask()).verdict === 'admitted') admitted++
    return admitted
  }
  const used = async () => {
    const decision = await store.decide(quota, { key: 'k', cost: 0, limits: terms.limits })
    const { hourUsed, dayUsed, monthUsed } = withUsed(decision)
    return [hourUsed, dayUsed, monthUsed]
  }
  return {
    ...{ gateway, store, quota, terms, ask, admits, used },
    cutOff: () => void (isDown = true),
    setTime: (ms: number) => void (now = ms),
    reconnect: async () => {
      isDown = false
      // One report at a time: the one that a question has tried to tell, and the rest of each day.
      for (let i = 0; i < 3; i++) await gateway.settle()
    },
  }
}

for (const [position, name] of names.entries()) {
  void t.test(`an outage of the store: ${name}`, async (t) => {
    void t.test('a gateway admits its share of what was left, and reports it', async (t) => {
      const { admits, cutOff, reconnect, used } = await fleetWith(t, name)
      t.equal(await admits(4), 4)
      cutOff()
      t.equal(await admits(9), 3, 'half of six')
      t.strictSame(await used(), [4, 4, 4])
      await reconnect()
      t.strictSame(await used(), [7, 7, 7])
      t.equal(await admits(9), 3)
    })

    void t.test('a second outage shares what the first one has left', async (t) => {
      const { admits, cutOff, reconnect, used } = await fleetWith(t, name)
      t.equal(await admits(2), 2)
      cutOff()
      t.equal(await admits(9), 4, 'half of eight')
      await reconnect()
      cutOff()
      t.equal(await admits(9), 2, 'half of four: nobody has asked meanwhile')
      await reconnect()
      t.strictSame(await used(), [8, 8, 8])
    })

    void t.test('a window that is full begins anew while it lasts', async (t) => {
      const { admits, cutOff, reconnect, used, setTime } = await fleetWith(t, name)
      t.equal(await admits(12), 10)
      cutOff()
      setTime(ends[name] - 1)
      t.equal(await admits(3), 0)
      setTime(ends[name])
      t.equal(await admits(9), 5, 'half of ten')
      await reconnect()
      t.equal((await used())[position], 5)
    })

    void t.test('a report after the end is of the windows that still run', async (t) => {
      const { admits, cutOff, reconnect, used, setTime, store, quota } = await fleetWith(t, name)
      t.equal(await admits(2), 2)
      cutOff()
      setTime(ends[name] - 1)
      t.equal(await admits(2), 2)
      setTime(ends[name])
      t.equal(await admits(1), 1)
      await reconnect()
      const ofMonth = name === 'month' ? 1 : 5
      t.strictSame(await used(), [1, name === 'hour' ? 5 : 1, ofMonth])
      const day = Math.floor((ends[name] - 1) / dayMs)
      let points = 0
      for await (const some of store.points(day)) {
        for (const each of some) if (each.quota === quota) points = each.points
      }
      t.equal(points, { hour: 5, day: 4, month: 2 }[name], 'for the ledger no point is lost')
    })

    void t.test('who allows all counts it, and who denies counts nothing', async (t) => {
      const open = await fleetWith(t, name, 'allow')
      await open.admits(4)
      open.cutOff()
      t.equal(await open.admits(9), 9)
      await open.gateway.giveBack(open.quota, await open.ask())
      await open.reconnect()
      t.strictSame(await open.used(), [10, 10, 10], 'what had room')
      const shut = await fleetWith(t, name, 'deny')
      await shut.admits(4)
      shut.cutOff()
      t.equal((await shut.ask()).verdict, 'unavailable')
      await shut.reconnect()
      t.strictSame(await shut.used(), [4, 4, 4])
    })

    void t.test('a reset meanwhile makes its report void', async (t) => {
      const { admits, cutOff, reconnect, used, store, quota } = await fleetWith(t, name)
      await admits(4)
      cutOff()
      t.equal(await admits(2), 2)
      await store.reset(quota)
      await reconnect()
      t.strictSame(await used(), [0, 0, 0])
      t.equal(await admits(12), 10)
    })

    void t.test('a Redis that has lost everything is told what it had', async (t) => {
      const { admits, cutOff, reconnect, used, quota } = await fleetWith(t, name)
      await admits(4)
      cutOff()
      t.equal(await admits(1), 1)
      await redis.client.del(`outage:quota:${quota}`)
      await reconnect()
      t.strictSame(await used(), [5, 5, 5])
    })

    void t.test('what an answer cost heals a Redis that has lost everything', async (t) => {
      const { gateway, ask, used, quota } = await fleetWith(t, name)
      const first = await ask(2)
      await ask(3)
      await redis.client.del(`outage:quota:${quota}`)
      await gateway.adjust(quota, first, { points: 4, isAnswered: true })
      t.strictSame(await used(), [9, 9, 9])
      await ask(1)
      t.strictSame(await used(), [10, 10, 10])
    })

    void t.test('what an answer cost after a reset leaves operations empty', async (t) => {
      const { gateway, ask, terms, quota, store } = await fleetWith(t, name)
      const part = operationPart('exports', { ...noLimits, perMonth: 5 })
      const admitted = await gateway.decide({ id: 'k', quota }, { ...terms, parts: [part] }, 5)
      await store.reset(quota)
      await gateway.adjust(quota, admitted, { points: 1, isAnswered: true })
      await ask(1)
      const after = await gateway.decide({ id: 'k', quota }, { ...terms, parts: [part] }, 5)
      t.equal(after.verdict, 'admitted')
    })

    void t.test('points come back to it, whoever has admitted them', async (t) => {
      const { gateway, ask, quota, cutOff, reconnect, used, setTime } = await fleetWith(t, name)
      const before = await ask(4)
      cutOff()
      const alone = await ask(2)
      await gateway.giveBack(quota, alone)
      await gateway.giveBack(quota, before)
      await reconnect()
      t.strictSame(await used(), [0, 0, 0])
      const last = await ask(3)
      cutOff()
      setTime(noon + hourMs)
      await gateway.giveBack(quota, last)
      await reconnect()
      t.strictSame(await used(), [0, 0, 0], 'also an hour later')
    })
  })
}
