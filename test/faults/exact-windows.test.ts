import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/front/config/config.ts'
import { Quotas } from '../../gateway/front/limits/quotas.ts'
import { redisQuotas } from '../../gateway/front/stores/redis/quota.ts'
import { byLimit, dayMs, hourMs, minuteMs, windows, type WindowName } from '../../shared/windows.ts'
import { connectionTo } from '../support/redis-stores.ts'
import { startCluster, startRedis } from '../support/redis.ts'

/** One of the two long windows is limited at a time: neither lies in the other. */
const mostOf = (long: 'week' | 'month') => {
  return { second: 7, minute: 50, hour: 70, day: 90, week: Infinity, month: Infinity, [long]: 100 }
}
type Most = ReturnType<typeof mostOf>
const atOnce = 64

/**
 * The ends of two months by the day on which they begin. The day before the second of the first is a leap day. And Mondays:
 * one after a new year, and one of a week in whose last day a month begins.
 */
const stories: readonly (readonly ['week' | 'month', from: number, ends: readonly number[]])[] = [
  ['month', 1, [Date.UTC(2028, 1, 1), Date.UTC(2028, 2, 1)]],
  ['month', 15, [Date.UTC(2028, 0, 15), Date.UTC(2028, 1, 15)]],
  ['month', 28, [Date.UTC(2028, 1, 28), Date.UTC(2028, 2, 28)]],
  ['week', 1, [Date.UTC(2028, 0, 3), Date.UTC(2028, 9, 2)]],
]

/** The times of bursts that use up a minute, its hour, its day and its week or month, each until its last millisecond. */
function timesUntil(end: number): number[] {
  const hour = end - dayMs - hourMs
  const minute = hour - 2 * minuteMs
  const seconds = Array.from({ length: 8 }, (_, i) => minute + i * 1_000)
  return [
    ...seconds.flatMap((second) => [second, second + 999]),
    ...[minute, hour - minuteMs, hour, hour + hourMs, end].flatMap((edge) => [
      edge - 1,
      ...[0, 1_000, 2_000].map((afterMs) => edge + afterMs),
    ]),
  ].sort((one, other) => one - other)
}

/** An independent count of what each window lets in. */
class Model {
  readonly used = new Map<string, number>()
  readonly from: number
  readonly most: Most

  constructor(from: number, most: Most) {
    this.from = from
    this.most = most
  }

  windowAt(name: WindowName, nowMs: number): string {
    const text = new Date(nowMs).toISOString()
    // The fourth of January 2027 was a Monday.
    if (name === 'week') return `week ${Math.floor((nowMs - Date.UTC(2027, 0, 4)) / (7 * dayMs))}`
    if (name !== 'month') return text.slice(0, { second: 19, minute: 16, hour: 13, day: 10 }[name])
    const isBefore = Number(text.slice(8, 10)) < this.from
    const [year, month] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)) - (isBefore ? 1 : 0)]
    return `month ${year * 12 + month}`
  }

  /** How many of some at once are let in. */
  lets(count: number, nowMs: number, areSecondsLimited: boolean): number {
    const limited = windows.filter(({ isBrief }) => areSecondsLimited || !isBrief)
    const room = limited.map(
      ({ name }) => this.most[name] - (this.used.get(this.windowAt(name, nowMs)) ?? 0),
    )
    const admitted = Math.max(0, Math.min(count, ...room))
    for (const { name } of windows) {
      const window = this.windowAt(name, nowMs)
      this.used.set(window, (this.used.get(window) ?? 0) + admitted)
    }
    return admitted
  }

  isFull(name: WindowName, nowMs: number): boolean {
    return this.used.get(this.windowAt(name, nowMs)) === this.most[name]
  }
}

async function fourGateways(t: Test, settings: RedisSettings, clock: () => number) {
  const stores = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const connection = await connectionTo(t, settings)
      return redisQuotas({ connection, prefix: 'edge:', timeoutMs: 20_000, testClock: clock })
    }),
  )
  const gateways = stores.map(
    (store) => new Quotas({ store, whenUnreachable: 'deny', clock, ticks: clock }),
  )
  t.teardown(() => gateways.forEach((gateway) => gateway.close()))
  return { gateways, stores }
}

async function isExact(t: Test, settings: RedisSettings): Promise<void> {
  let now = 0
  const { gateways, stores } = await fourGateways(t, settings, () => now)
  for (const [long, from, ends] of stories) {
    const most = mostOf(long)
    const limits = byLimit(({ name }) => most[name])
    for (const terms of [limits, { ...limits, perSecond: Infinity }]) {
      const asker = { id: 'k', quota: `${long} ${from} ${terms.perSecond}` }
      const model = new Model(from, most)
      now = timesUntil(ends[0] ?? 0)[0] ?? 0
      await stores[0]?.setMonthFrom(asker.quota, from)
      for (const end of ends) {
        for (const time of timesUntil(end)) {
          now = time
          const decisions = await Promise.all(
            Array.from({ length: atOnce }, async (_, i) =>
              gateways[i % 4]?.decide(asker, { limits: terms, bans: undefined }, 1),
            ),
          )
          const admitted = decisions.filter((decision) => decision?.verdict === 'admitted').length
          const expected = model.lets(atOnce, now, terms === limits)
          if (admitted !== expected) {
            t.equal(admitted, expected, `${new Date(now).toISOString()}, months from ${from}`)
          }
        }
        for (const { name, isBrief } of windows) {
          if ((isBrief && terms !== limits) || most[name] === Infinity) continue
          const full = timesUntil(end).filter((time) => model.isFull(name, time))
          t.ok(full.length > 0, `a ${name} was used up before ${new Date(end).toISOString()}`)
        }
        await stores[0]?.reset(asker.quota)
        model.used.clear()
      }
    }
  }
}

t.test('four gateways let in exactly what fits over months and weeks, on one Redis', async (t) => {
  await isExact(t, { url: (await startRedis(t)).url })
})

t.test('four gateways let in exactly what fits over months and weeks, on a Cluster', async (t) => {
  await isExact(t, { cluster: (await startCluster(t)).nodes })
})
