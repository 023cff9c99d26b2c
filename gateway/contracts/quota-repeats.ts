import assert from 'node:assert/strict'
import { usedIn, type Counters } from '../front/limits/counters.ts'
import type { Numbered } from '../front/limits/quota-state.ts'
import { dayMs, dayWindow } from '../../shared/windows.ts'
import { start, type Declare, type TriedStore } from './tried-quotas.ts'
import { match } from './contract.ts'

const wide = { limits: { perMinute: 1_000, perDay: 1_000 } }

/** The part of the contract of `QuotaStore` about adjustments that come twice. Stores in this process hear none twice. */
export function repeatsContract(test: Declare, tried: TriedStore): void {
  const { setTime, newName, ask } = tried
  const repeated: Declare = (name, run) =>
    test(name, async () => {
      if (!tried.store.isLocal) await run()
    })

  /** A quota of one point, and how it is adjusted by 10 more. */
  async function begin() {
    setTime(start)
    const quota = newName()
    const { seen } = await ask(quota, wide)
    const adjust = (number: number, from = number, by = 'one', counters: Counters = seen) => {
      const numbered: Numbered = { by, number, from }
      const adjustment = { points: 10, isAnswered: true }
      return tried.store.adjust(quota, adjustment, { counters, numbered })
    }
    const used = async () => (await ask(quota, { ...wide, cost: 0 })).dayUsed
    return { quota, adjust, used }
  }

  repeated('an adjustment that comes twice is made once', async () => {
    const { adjust, used } = await begin()
    await adjust(1)
    match(await adjust(1), { total: 11 }, 'and answered')
    assert.equal(await used(), 11)
    await adjust(1, 1, 'other')
    assert.equal(await used(), 21, 'each gateway has numbers of its own')
  })

  repeated('adjustments may overtake each other', async () => {
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
    assert.equal(await used(), 41)
    await adjust(2, 1)
    assert.equal(await used(), 41, 'one that comes when its gateway has had its answer')
  })

  repeated('one that comes again brings lost writes back', async () => {
    const { quota, adjust } = await begin()
    await adjust(1)
    const { seen } = await ask(newName(), { ...wide, cost: 30 })
    const numbered = { by: 'one', number: 1, from: 1 }
    const admission = { counters: seen, seen, numbered }
    const again = await tried.store.adjust(quota, { points: 10, isAnswered: true }, admission)
    assert.equal(usedIn(again, dayWindow), 30, 'and its answer tells no less than was seen')
  })

  repeated('a reset leaves them made', async () => {
    const { quota, adjust, used } = await begin()
    await adjust(1)
    await tried.store.reset(quota)
    await adjust(1)
    assert.equal(await used(), 0)
    assert.equal(await tried.pointsOf(quota, Math.floor(start / dayMs)), 11)
  })

  repeated('they are known for days, and gateways that are gone not for ever', async () => {
    const { quota, adjust } = await begin()
    await tried.store.setMonthFrom(quota, 5)
    const on = async (day: number) => {
      setTime(start + day * dayMs)
      const { seen } = await ask(quota, wide)
      return async (by: string, number: number, from: number) => {
        await adjust(number, from, by, seen)
        return (await ask(quota, { ...wide, cost: 0 })).dayUsed
      }
    }
    await adjust(1, 1, 'gone')
    await adjust(1, 1, 'slow')
    assert.equal(await (await on(3))('slow', 2, 1), 11)
    const then = await on(4)
    assert.equal(await then('new', 1, 1), 11)
    assert.equal(await then('slow', 1, 1), 11, 'slow is still known')
    assert.equal(await then('slow', 3, 1), 21)
    assert.equal(await then('gone', 1, 1), 31, 'gone is not')
  })
}
