import t, { type Test } from 'tap'
import { beyondIn } from '../../../gateway/front/limits/beyond.ts'
import { decisiveWindow, limitedWindows } from '../../../gateway/front/limits/headers.ts'
import { limitFrom } from '../../../gateway/front/limits/limit-settings.ts'
import { noLimits } from '../../../gateway/front/limits/limits.ts'
import { Quotas } from '../../../gateway/front/limits/quotas.ts'
import type { QuotaStore } from '../../../gateway/front/limits/store.ts'
import { redisQuotas } from '../../../gateway/front/stores/redis/quota.ts'
import { StoreUnavailable } from '../../../shared/store-errors.ts'
import { dayMs } from '../../../shared/windows.ts'
import { startRedis } from '../../support/redis.ts'
import { connectionTo } from '../../support/redis-stores.ts'

const redis = await startRedis(t)
const noon = Date.UTC(2026, 5, 15, 12, 30)
const metered = {
  limits: { ...noLimits, perDay: 300 },
  included: { ...noLimits, perDay: 100 },
  bans: undefined,
}
let quotas = 0

/** A gateway that can be cut off from its Redis, and the points of its quota in the ledger. */
async function start(t: Test, gateways = 1) {
  let isDown = false
  const connection = await connectionTo(t, { url: redis.url })
  const store = redisQuotas({
    ...{ connection, prefix: 'beyond:', timeoutMs: 5_000, testClock: () => noon },
  })
  const cut = <Result>(ask: () => Promise<Result> | Result) =>
    isDown ? Promise.reject(new StoreUnavailable('it is cut off')) : ask()
  const cuttable: QuotaStore = {
    ...store,
    decide: (...asked) => cut(() => store.decide(...asked)),
    adjust: (...asked) => cut(() => store.adjust(...asked)),
  }
  const clock = () => noon
  const gateway = new Quotas({
    ...{ store: cuttable, whenUnreachable: 'local', clock, ticks: clock },
    gateways: () => gateways,
  })
  t.teardown(() => gateway.close())
  const quota = `key:${++quotas}`
  const ask = async (cost: number, terms: object = metered) =>
    gateway.decide({ id: 'k', quota }, { ...metered, ...terms }, cost)
  const inLedger = async () => {
    for await (const some of store.points(Math.floor(noon / dayMs))) {
      for (const each of some) if (each.quota === quota) return [each.points, each.beyond ?? 0]
    }
    return [0, 0]
  }
  return {
    ...{ gateway, store, quota, ask, inLedger },
    cutOff: () => void (isDown = true),
    reconnect: async () => {
      isDown = false
      for (let i = 0; i < 4; i++) await gateway.settle()
    },
  }
}

t.test('what lies beyond is noted again where Redis has lost it', async (t) => {
  const { gateway, ask, quota, inLedger } = await start(t)
  const first = await ask(120)
  await ask(100)
  await redis.client.del(`beyond:quota:${quota}`)
  await ask(1)
  t.strictSame(await inLedger(), [221, 121])
  await redis.client.del(`beyond:quota:${quota}`)
  await gateway.adjust(quota, first, { points: 4, isAnswered: true })
  t.strictSame(await inLedger(), [225, 125], 'by what an answer has cost as well')
})

t.test('granted points are included during an outage, too', async (t) => {
  const { store, quota, ask, cutOff, reconnect, inLedger } = await start(t)
  await ask(1)
  await store.grant(quota, { perDay: 50, by: 'a' })
  await ask(100)
  cutOff()
  t.equal(beyondIn(await ask(20), 20), 0)
  await reconnect()
  t.strictSame(await inLedger(), [121, 0])
})

t.test('keys of one account report what their own plans include', async (t) => {
  const { ask, cutOff, reconnect, inLedger } = await start(t)
  await ask(100)
  cutOff()
  await ask(1)
  for (let i = 0; i < 21; i++) await ask(1, { included: undefined })
  await reconnect()
  const [points, beyond] = await inLedger()
  t.equal(points, 122)
  t.equal(beyond, 1)
})

t.test('what an answer cost in an outage is counted after a lift, too', async (t) => {
  const { gateway, store, quota, ask, cutOff, reconnect, inLedger } = await start(t)
  const admitted = await ask(10)
  await store.ban(quota, 'other', noon + dayMs)
  await store.lift(quota, 'other')
  cutOff()
  await gateway.adjust(quota, admitted, { points: 190, isAnswered: true })
  await reconnect()
  const { seen } = await ask(1)
  const [state] = [decisiveWindow(await ask(0), metered.limits)]
  t.equal(state?.remaining, 300 - 201, `${seen.total} points`)
  t.strictSame(await inLedger(), [201, 101])
})

t.test('shares of other gateways aren’t told as points beyond', async (t) => {
  const { ask, cutOff } = await start(t, 4)
  await ask(1)
  cutOff()
  const decision = await ask(1)
  t.match(limitedWindows(decision, metered.limits).day, { metered: { included: 100, beyond: 0 } })
})

t.test('a bound is exact to the point, whatever its fraction', (t) => {
  const upTo = (limit: number, share: string) => limitFrom({ limit, beyond: 'meter', upTo: share })
  t.equal(upTo(1_000, '128.2%'), 1_282)
  t.equal(upTo(1_000, '128.7%'), 1_287)
  t.equal(upTo(999, '150%'), 1_498)
  t.equal(upTo(999_999_999_999_999, '100.001%'), 1_000_009_999_999_998)
  t.equal(upTo(7, 'unlimited'), Infinity)
  t.end()
})
