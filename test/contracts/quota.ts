import type { Test } from 'tap'
import { unanswered } from '../../gateway/front/limits/counters.ts'
import { mostGrants } from '../../gateway/front/limits/grants.ts'
import { dayMs, minuteMs } from '../../shared/windows.ts'
import { counted, numbersOf } from '../support/counters.ts'
import { bansContract } from './quota-bans.ts'
import { limiterContract } from './quota-limiter.ts'
import { modelContract } from './quota-model.ts'
import { partsContract } from './quota-parts.ts'
import { placesContract } from './quota-places.ts'
import { repeatsContract } from './quota-repeats.ts'
import { seenContract } from './quota-seen.ts'
import { troublesContract } from './quota-troubles.ts'
import { longWindowsContract } from './quota-windows.ts'
import { rules, start, TriedStore, type MovableStore } from './tried-quotas.ts'

/** The contract of `QuotaStore`. Each adapter runs it, with a number of stories that are held against a model. */
export function quotaStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<MovableStore>,
  { stories = 60 } = {},
): Promise<unknown> {
  return t.test(`a quota store: ${name}`, async (t) => {
    const tried = new TriedStore(await open(t))
    windowsContract(t, tried)
    longWindowsContract(t, tried)
    seenContract(t, tried)
    repeatsContract(t, tried)
    bansContract(t, tried)
    limiterContract(t, tried)
    modelContract(t, tried, stories)
    troublesContract(t, tried, stories)
    partsContract(t, tried, stories)
    placesContract(t, tried, stories)
  })
}

/** The part about the windows of a minute and a day, and what is granted and given back in them. */
function windowsContract(t: Test, tried: TriedStore): void {
  const { setTime, newName, ask, verdicts, pointsOf } = tried
  t.test('grants raise this minute and this day, add up, and end with them', async (t) => {
    setTime(start)
    const quota = newName()
    t.equal(
      await tried.store.grant(quota, { perMinute: 2, perDay: 0, by: 'a', note: 'x\n"y"' }),
      true,
    )
    t.match(await ask(quota, { cost: 0 }), { granted: { perMinute: 2, perDay: undefined } })
    const [five, eight] = [5, 8].map((times) => Array.from({ length: times }, () => 'admitted'))
    t.equal(await verdicts(quota, 6), [...(five ?? []), 'refused'].join(' '))
    setTime(start + minuteMs)
    const next = await ask(quota)
    t.equal(next.verdict, 'refused', 'the day is full, and the minute’s grant is over')
    t.equal(next.granted, undefined)
    for (const perDay of [2, 1]) {
      t.equal(await tried.store.grant(quota, { perMinute: 0, perDay, by: 'b' }), true)
    }
    const before = await ask(quota, { cost: 0 })
    t.match(before, { granted: { perDay: 3 }, dayUsed: 5, seen: { generation: 0 } })
    await tried.reopen()
    t.equal(await verdicts(quota, 4), [...(eight ?? []).slice(5), 'refused'].join(' '))
    t.match(await tried.store.grants(quota), [
      { atMs: start + minuteMs, perDay: 2, by: 'b' },
      { atMs: start + minuteMs, perDay: 1, by: 'b' },
    ])
    await tried.store.reset(quota)
    t.match(await ask(quota, { cost: 0 }), { granted: { perDay: 3 }, dayUsed: 0 }, 'as it was')
    // A gateway that saw more than a store that has lost writes.
    const { seen } = await ask(quota)
    t.match(await ask(quota, { seen: counted(seen, { day: 7 }) }), { granted: { perDay: 3 } })
    setTime(start + dayMs)
    const tomorrow = await ask(quota)
    t.equal(tomorrow.granted, undefined)
    t.equal(await verdicts(quota, 3), 'admitted admitted refused')

    const other = newName()
    for (let i = 0; i < mostGrants; i++) {
      t.equal(await tried.store.grant(other, { perMinute: 0, perDay: 1, by: 'a' }), true)
    }
    t.equal(await tried.store.grant(other, { perMinute: 0, perDay: 1, by: 'a' }), false)
    t.match(await ask(other, { cost: 0 }), { granted: { perDay: mostGrants } })
    setTime(start + 2 * dayMs)
    t.equal(
      await tried.store.grant(other, { perMinute: 0, perDay: 1, by: 'a' }),
      true,
      'a day later',
    )
    t.equal((await tried.store.grants(other)).length, 1)
    setTime(start)
  })

  t.test(
    'admits up to the limit and refuses the next; what is refused costs nothing',
    async (t) => {
      const quota = newName()
      setTime(start)
      t.equal(await verdicts(quota, 5), 'admitted admitted admitted refused refused')
      setTime(start + minuteMs - 1)
      t.match(
        await ask(quota),
        { verdict: 'refused', minuteUsed: 3, dayUsed: 3 },
        'to the last millisecond',
      )
      setTime(start + minuteMs)
      t.match(await ask(quota), { verdict: 'admitted', minuteUsed: 1, dayUsed: 4 })
      t.equal(await verdicts(quota, 2), 'admitted refused', 'the day is full')
      t.match(
        await ask(quota),
        { minuteUsed: 2, dayUsed: 5 },
        'and the minute was not charged for it',
      )
      setTime(start + dayMs / 2 - 1)
      t.equal(await verdicts(quota, 1), 'refused')
      setTime(start + dayMs / 2)
      t.match(
        await ask(quota),
        { verdict: 'admitted', minuteUsed: 1, dayUsed: 1 },
        'until midnight',
      )
    },
  )

  t.test('compares limits when it decides and keeps what was used', async (t) => {
    const quota = newName()
    setTime(start)
    await verdicts(quota, 3)
    t.match(await ask(quota, { limits: { perMinute: 10, perDay: 100 } }), {
      verdict: 'admitted',
      minuteUsed: 4,
    })
    t.match(await ask(quota, { limits: { perMinute: 2, perDay: 100 } }), {
      verdict: 'refused',
      minuteUsed: 4,
    })
    t.match(await ask(quota, { limits: { perMinute: Infinity, perDay: Infinity } }), {
      verdict: 'admitted',
      minuteUsed: 5,
    })
  })

  t.test('takes any cost, all or nothing, and nothing for nothing', async (t) => {
    const quota = newName()
    setTime(start)
    t.match(await ask(quota, { cost: 2 }), { verdict: 'admitted', minuteUsed: 2 })
    t.match(await ask(quota, { cost: 2 }), { verdict: 'refused', minuteUsed: 2 })
    t.match(await ask(quota, { cost: 1 }), { verdict: 'admitted', minuteUsed: 3 })
    t.match(await ask(quota, { cost: 0 }), { verdict: 'admitted', minuteUsed: 3, dayUsed: 3 })
  })

  t.test('gives a day its point back, and not twice, nor to another day', async (t) => {
    const quota = newName()
    setTime(start)
    const { seen } = await ask(quota)
    await tried.store.adjust(quota, unanswered(1), { counters: seen })
    t.match(await ask(quota, { cost: 0 }), { minuteUsed: 1, dayUsed: 0 })
    await tried.store.adjust(quota, unanswered(1), { counters: seen })
    const { day } = numbersOf(seen)
    await tried.store.adjust(quota, unanswered(1), {
      counters: counted(seen, {}, { numbers: { day: day - 1 } }),
    })
    t.match(await ask(quota, { cost: 0 }), { dayUsed: 0 }, 'never less than nothing')
    t.match(await ask(quota), { dayUsed: 1 })
  })

  t.test('the points of a day outlast midnight, resets and a restart', async (t) => {
    const [quota, idle] = [newName(), newName()]
    const wide = { limits: { perMinute: 100, perDay: 1_000 } }
    const midnight = start + dayMs / 2
    setTime(midnight - 1)
    const { seen } = await ask(quota, { ...wide, cost: 5 })
    const { day } = numbersOf(seen)
    await ask(idle, { ...wide, cost: 7 })
    await tried.store.adjust(quota, unanswered(1), { counters: seen })
    await tried.store.reset(quota)
    await ask(quota, { ...wide, cost: 2 })
    t.equal(await pointsOf(quota, day), 6, 'before a reset and after it')
    // Of a request before the reset: the counters have points of others only.
    await tried.store.adjust(quota, unanswered(3), { counters: seen })
    t.equal(await pointsOf(quota, day), 3)
    t.match(await ask(quota, { ...wide, cost: 0 }), { dayUsed: 2 })
    await ask(quota, { ...wide, cost: 4 })
    await tried.store.ban(quota, 'another', start + dayMs)
    await tried.store.adjust(quota, unanswered(1), { counters: seen })
    t.match(await ask(quota, { ...wide, cost: 0 }), { dayUsed: 6 }, 'nor once it has as many')
    await tried.store.adjust(quota, { points: 1, isAnswered: true }, { counters: seen })
    setTime(midnight)
    t.equal(await pointsOf(quota, day), 7, 'nobody has asked since')
    t.match(await ask(quota, { ...wide, cost: 1 }), { dayUsed: 1 })
    t.strictSame([await pointsOf(quota, day), await pointsOf(quota, day + 1)], [7, 1])
    await tried.store.adjust(quota, unanswered(2), { counters: seen })
    const report = counted(seen, { day: 10 }, { back: { day: 1 } })
    const owed = { ...report, by: 'late', number: 1 }
    await ask(quota, { ...wide, owed })
    await ask(quota, { ...wide, owed })
    t.equal(await pointsOf(quota, day), 14, 'given back and admitted before midnight, told after')
    t.match(await ask(quota, { ...wide, cost: 0 }), { dayUsed: 3 })
    await tried.reopen()
    for (const after of [1, 2]) {
      setTime(midnight + after * dayMs)
      await ask(quota, { ...wide, cost: 1 })
    }
    const all = [0, 1, 2, 3].map((after) => pointsOf(quota, day + after))
    t.strictSame(await Promise.all(all), [14, 3, 1, 1])
    t.equal(await pointsOf(idle, day), 7, 'also of a quota that isn’t used any more')
    setTime(midnight + 6 * dayMs)
    await ask(quota, { ...wide, cost: 1 })
    t.strictSame([await pointsOf(quota, day), await pointsOf(quota, day + 3)], [0, 1], 'bounded')
  })

  t.test('a reset empties all windows', async (t) => {
    const quota = newName()
    setTime(start)
    await verdicts(quota, 4)
    await tried.store.reset(quota)
    t.match(await ask(quota), { verdict: 'admitted', minuteUsed: 1, dayUsed: 1 })
  })

  t.test('a clock that is set back a little begins no window again', async (t) => {
    const quota = newName()
    setTime(start)
    await verdicts(quota, 3)
    setTime(start - 50)
    t.match(await ask(quota), { verdict: 'refused', minuteUsed: 3 })
    setTime(start)
    t.match(await ask(quota), { verdict: 'refused', minuteUsed: 3 })
    const midnight = start + dayMs / 2
    setTime(midnight)
    await verdicts(quota, 3)
    setTime(midnight - 50)
    t.match(await ask(quota), { verdict: 'refused', dayUsed: 3 })
  })

  t.test('of many at once exactly as many are admitted as fit', async (t) => {
    const quota = newName()
    setTime(start)
    const asked = Array.from({ length: 500 }, () =>
      ask(quota, { limits: { perMinute: 100, perDay: 1_000 } }),
    )
    const admitted = (await Promise.all(asked)).filter(({ verdict }) => verdict === 'admitted')
    t.equal(admitted.length, 100)
    t.match(await ask(quota, { cost: 0 }), { minuteUsed: 100, dayUsed: 100 })
  })

  t.test('a restart forgets nothing', async (t) => {
    const [counted, banned] = [newName(), newName()]
    setTime(start)
    await verdicts(counted, 2)
    const bans = { bans: rules, limits: { perMinute: 1, perDay: 1_000 } }
    await verdicts(banned, 2, bans)
    setTime(start + 1_001)
    await verdicts(banned, 2, bans)
    await tried.reopen()
    t.match(await ask(counted), { verdict: 'admitted', minuteUsed: 3, dayUsed: 3 })
    t.match(await ask(banned, bans), { verdict: 'banned' }, 'strikes are remembered')
    await tried.reopen()
    t.match(await ask(banned, bans), {
      verdict: 'banned',
      bannedUntilMs: start + 1_001 + rules.forMs,
    })
  })
}
