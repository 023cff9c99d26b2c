import type { Test } from 'tap'
import type { Numbered } from '../../gateway/front/limits/quota-state.ts'
import { dayMs } from '../../shared/windows.ts'
import { start, type TriedStore } from './tried-quotas.ts'

const wide = { limits: { perMinute: 1_000, perDay: 1_000 } }

/** The part of the contract of `QuotaStore` about adjustments that come twice. Stores in this process hear none twice. */
export function repeatsContract(t: Test, tried: TriedStore): void {
  if (tried.store.isLocal) return
  const { setTime, newName, ask } = tried

  /** A quota of one point, and how it is adjusted by 10 more. */
  async function begin() {
    setTime(start)
    const quota = newName()
    const { seen: counters } = await ask(quota, wide)
    const adjust = (number: number, from = number, by = 'one') => {
      const numbered: Numbered = { by, number, from }
      const adjustment = { points: 10, isAnswered: true }
      return tried.store.adjust(quota, adjustment, { counters, numbered })
    }
    const used = async () => (await ask(quota, { ...wide, cost: 0 })).dayUsed
    return { quota, adjust, used }
  }

  t.test('an adjustment that comes twice is made once', async (t) => {
    const { adjust, used } = await begin()
    await adjust(1)
    t.match(await adjust(1), { total: 11 }, 'and answered')
    t.equal(await used(), 11)
    await adjust(1, 1, 'other')
    t.equal(await used(), 21, 'each gateway has numbers of its own')
  })

  t.test('adjustments may overtake each other', async (t) => {
    const { adjust, used } = await begin()
    for (const [number, from] of [
      [3, 1],
      [2, 1],
      [3, 1],
      [1, 1],
      [2, 1],
      [4, 3],
      [4, 3],
      [3, 3],
    ] as const) {
      await adjust(number, from)
    }
    t.equal(await used(), 41)
    await adjust(2, 1)
    t.equal(await used(), 41, 'one that comes when its gateway has had its answer')
  })

  t.test('a reset leaves them made', async (t) => {
    const { quota, adjust, used } = await begin()
    await adjust(1)
    await tried.store.reset(quota)
    await adjust(1)
    t.equal(await used(), 0)
    t.equal(await tried.pointsOf(quota, Math.floor(start / dayMs)), 11)
  })

  t.test(
    'they are known until days later, and gateways that are gone are not for ever',
    async (t) => {
      const { quota, adjust, used } = await begin()
      await tried.store.setMonthFrom(quota, 5)
      await adjust(1, 1, 'gone')
      await adjust(1, 1, 'slow')
      setTime(start + 3 * dayMs)
      await adjust(1, 1, 'slow')
      t.equal(await used(), 0)
      const { seen } = await ask(quota, { ...wide, cost: 0 })
      const before = seen.total
      await adjust(2, 2, 'slow')
      setTime(start + 4 * dayMs)
      await adjust(1, 1, 'new')
      await adjust(3, 1, 'slow')
      t.match(await adjust(1, 1, 'slow'), { total: before + 30 }, 'slow is still known')
      t.match(await adjust(1, 1, 'gone'), { total: before + 40 }, 'gone is not')
    },
  )
}
