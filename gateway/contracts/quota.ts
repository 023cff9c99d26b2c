import assert from 'node:assert/strict'
import { unanswered } from '../front/limits/counters.ts'
import { mostGrants } from '../front/limits/grants.ts'
import { dayMs, minuteMs } from '../../shared/windows.ts'
import { counted, numbersOf } from './counters.ts'
import { bansContract } from './quota-bans.ts'
import { modelContract } from './quota-model.ts'
import { partsContract } from './quota-parts.ts'
import { placesContract } from './quota-places.ts'
import { purseContract } from './quota-purse.ts'
import { repeatsContract } from './quota-repeats.ts'
import { seenContract } from './quota-seen.ts'
import { troublesContract } from './quota-troubles.ts'
import { longWindowsContract } from './quota-windows.ts'
import { rules, start, TriedStore, type Declare, type MovableQuotas } from './tried-quotas.ts'
import { match, type Contract } from './contract.ts'

/** The promises of a store of quotas, for any technology, with a number of stories that are held against a model. */
export function quotasContract({
  test,
  open,
  stories = 60,
}: Contract<MovableQuotas> & Readonly<{ stories?: number | undefined }>): void {
  const tried = new TriedStore()
  const declare: Declare = (name, run) => void test(name, () => tried.during(open, run))
  windowsContract(declare, tried)
  longWindowsContract(declare, tried)
  seenContract(declare, tried)
  repeatsContract(declare, tried)
  bansContract(declare, tried)
  modelContract(declare, tried, stories)
  troublesContract(declare, tried, stories)
  partsContract(declare, tried, stories)
  placesContract(declare, tried, stories)
  purseContract(declare, tried, stories)
}

/** The part about the windows of a minute and a day, and what is granted and given back in them. */
function windowsContract(test: Declare, tried: TriedStore): void {
  const { setTime, newName, ask, verdicts, pointsOf } = tried
  test('grants raise this minute and this day, add up, and end with them', async () => {
    setTime(start)
    const quota = newName()
    assert.equal(
      await tried.store.grant(quota, { perMinute: 2, perDay: 0, by: 'a', note: 'x\n"y"' }),
      true,
    )
    match(await ask(quota, { cost: 0 }), { granted: { perMinute: 2, perDay: undefined } })
    const [five, eight] = [5, 8].map((times) => Array.from({ length: times }, () => 'admitted'))
    assert.equal(await verdicts(quota, 6), [...(five ?? []), 'refused'].join(' '))
    setTime(start + minuteMs)
    const next = await ask(quota)
    assert.equal(next.verdict, 'refused', 'the day is full, and the minute’s grant is over')
    assert.equal(next.granted, undefined)
    for (const perDay of [2, 1]) {
      assert.equal(await tried.store.grant(quota, { perMinute: 0, perDay, by: 'b' }), true)
    }
    const before = await ask(quota, { cost: 0 })
    match(before, { granted: { perDay: 3 }, dayUsed: 5, seen: { generation: 0 } })
    await tried.reopen()
    assert.equal(await verdicts(quota, 4), [...(eight ?? []).slice(5), 'refused'].join(' '))
    match(await tried.store.grants(quota), [
      { atMs: start + minuteMs, perDay: 2, by: 'b' },
      { atMs: start + minuteMs, perDay: 1, by: 'b' },
    ])
    await tried.store.reset(quota)
    match(await ask(quota, { cost: 0 }), { granted: { perDay: 3 }, dayUsed: 0 }, 'as it was')
    // A gateway that saw more than a store that has lost writes.
    const { seen } = await ask(quota)
    match(await ask(quota, { seen: counted(seen, { day: 7 }) }), { granted: { perDay: 3 } })
    setTime(start + dayMs)
    const tomorrow = await ask(quota)
    assert.equal(tomorrow.granted, undefined)
    assert.equal(await verdicts(quota, 3), 'admitted admitted refused')

    const other = newName()
    for (let i = 0; i < mostGrants; i++) {
      assert.equal(await tried.store.grant(other, { perMinute: 0, perDay: 1, by: 'a' }), true)
    }
    assert.equal(await tried.store.grant(other, { perMinute: 0, perDay: 1, by: 'a' }), false)
    match(await ask(other, { cost: 0 }), { granted: { perDay: mostGrants } })
    setTime(start + 2 * dayMs)
    assert.equal(
      await tried.store.grant(other, { perMinute: 0, perDay: 1, by: 'a' }),
      true,
      'a day later',
    )
    assert.equal((await tried.store.grants(other)).length, 1)
    setTime(start)
  })

  test('admits up to the limit and refuses the next; what is refused costs nothing', async () => {
    const quota = newName()
    setTime(start)
    assert.equal(await verdicts(quota, 5), 'admitted admitted admitted refused refused')
    setTime(start + minuteMs - 1)
    match(
      await ask(quota),
      { verdict: 'refused', minuteUsed: 3, dayUsed: 3 },
      'to the last millisecond',
    )
    setTime(start + minuteMs)
    match(await ask(quota), { verdict: 'admitted', minuteUsed: 1, dayUsed: 4 })
    assert.equal(await verdicts(quota, 2), 'admitted refused', 'the day is full')
    match(await ask(quota), { minuteUsed: 2, dayUsed: 5 }, 'and the minute was not charged for it')
    setTime(start + dayMs / 2 - 1)
    assert.equal(await verdicts(quota, 1), 'refused')
    setTime(start + dayMs / 2)
    match(await ask(quota), { verdict: 'admitted', minuteUsed: 1, dayUsed: 1 }, 'until midnight')
  })

  test('compares limits when it decides and keeps what was used', async () => {
    const quota = newName()
    setTime(start)
    await verdicts(quota, 3)
    match(await ask(quota, { limits: { perMinute: 10, perDay: 100 } }), {
      verdict: 'admitted',
      minuteUsed: 4,
    })
    match(await ask(quota, { limits: { perMinute: 2, perDay: 100 } }), {
      verdict: 'refused',
      minuteUsed: 4,
    })
    match(await ask(quota, { limits: { perMinute: Infinity, perDay: Infinity } }), {
      verdict: 'admitted',
      minuteUsed: 5,
    })
  })

  test('takes any cost, all or nothing, and nothing for nothing', async () => {
    const quota = newName()
    setTime(start)
    match(await ask(quota, { cost: 2 }), { verdict: 'admitted', minuteUsed: 2 })
    match(await ask(quota, { cost: 2 }), { verdict: 'refused', minuteUsed: 2 })
    match(await ask(quota, { cost: 1 }), { verdict: 'admitted', minuteUsed: 3 })
    match(await ask(quota, { cost: 0 }), { verdict: 'admitted', minuteUsed: 3, dayUsed: 3 })
  })

  test('gives a day its point back, and not twice, nor to another day', async () => {
    const quota = newName()
    setTime(start)
    const { seen } = await ask(quota)
    await tried.store.adjust(quota, unanswered(1), { counters: seen })
    match(await ask(quota, { cost: 0 }), { minuteUsed: 1, dayUsed: 0 })
    await tried.store.adjust(quota, unanswered(1), { counters: seen })
    const { day } = numbersOf(seen)
    await tried.store.adjust(quota, unanswered(1), {
      counters: counted(seen, {}, { numbers: { day: day - 1 } }),
    })
    match(await ask(quota, { cost: 0 }), { dayUsed: 0 }, 'never less than nothing')
    match(await ask(quota), { dayUsed: 1 })
  })

  test('the points of a day outlast midnight, resets and a restart', async () => {
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
    assert.equal(await pointsOf(quota, day), 6, 'before a reset and after it')
    // Of a request before the reset: the counters have points of others only.
    await tried.store.adjust(quota, unanswered(3), { counters: seen })
    assert.equal(await pointsOf(quota, day), 3)
    match(await ask(quota, { ...wide, cost: 0 }), { dayUsed: 2 })
    await ask(quota, { ...wide, cost: 4 })
    await tried.store.ban(quota, 'another', start + dayMs)
    await tried.store.adjust(quota, unanswered(1), { counters: seen })
    match(await ask(quota, { ...wide, cost: 0 }), { dayUsed: 6 }, 'nor once it has as many')
    await tried.store.adjust(quota, { points: 1, isAnswered: true }, { counters: seen })
    setTime(midnight)
    assert.equal(await pointsOf(quota, day), 7, 'nobody has asked since')
    match(await ask(quota, { ...wide, cost: 1 }), { dayUsed: 1 })
    assert.deepEqual([await pointsOf(quota, day), await pointsOf(quota, day + 1)], [7, 1])
    await tried.store.adjust(quota, unanswered(2), { counters: seen })
    const report = counted(seen, { day: 10 }, { back: { day: 1 } })
    const owed = { ...report, by: 'late', number: 1 }
    await ask(quota, { ...wide, owed })
    await ask(quota, { ...wide, owed })
    assert.equal(
      await pointsOf(quota, day),
      14,
      'given back and admitted before midnight, told after',
    )
    match(await ask(quota, { ...wide, cost: 0 }), { dayUsed: 3 })
    await tried.reopen()
    for (const after of [1, 2]) {
      setTime(midnight + after * dayMs)
      await ask(quota, { ...wide, cost: 1 })
    }
    const all = [0, 1, 2, 3].map((after) => pointsOf(quota, day + after))
    assert.deepEqual(await Promise.all(all), [14, 3, 1, 1])
    assert.equal(await pointsOf(idle, day), 7, 'also of a quota that isn’t used any more')
    setTime(midnight + 6 * dayMs)
    await ask(quota, { ...wide, cost: 1 })
    assert.deepEqual(
      [await pointsOf(quota, day), await pointsOf(quota, day + 3)],
      [0, 1],
      'bounded',
    )
  })

  test('a reset empties all windows', async () => {
    const quota = newName()
    setTime(start)
    await verdicts(quota, 4)
    await tried.store.reset(quota)
    match(await ask(quota), { verdict: 'admitted', minuteUsed: 1, dayUsed: 1 })
  })

  test('a clock that is set back a little begins no window again', async () => {
    const quota = newName()
    setTime(start)
    await verdicts(quota, 3)
    setTime(start - 50)
    match(await ask(quota), { verdict: 'refused', minuteUsed: 3 })
    setTime(start)
    match(await ask(quota), { verdict: 'refused', minuteUsed: 3 })
    const midnight = start + dayMs / 2
    setTime(midnight)
    await verdicts(quota, 3)
    setTime(midnight - 50)
    match(await ask(quota), { verdict: 'refused', dayUsed: 3 })
  })

  test('of many at once exactly as many are admitted as fit', async () => {
    const quota = newName()
    setTime(start)
    const asked = Array.from({ length: 500 }, () =>
      ask(quota, { limits: { perMinute: 100, perDay: 1_000 } }),
    )
    const admitted = (await Promise.all(asked)).filter(({ verdict }) => verdict === 'admitted')
    assert.equal(admitted.length, 100)
    match(await ask(quota, { cost: 0 }), { minuteUsed: 100, dayUsed: 100 })
  })

  test('a restart forgets nothing', async () => {
    const [counted, banned] = [newName(), newName()]
    setTime(start)
    await verdicts(counted, 2)
    const bans = { bans: rules, limits: { perMinute: 1, perDay: 1_000 } }
    await verdicts(banned, 2, bans)
    setTime(start + 1_001)
    await verdicts(banned, 2, bans)
    await tried.reopen()
    match(await ask(counted), { verdict: 'admitted', minuteUsed: 3, dayUsed: 3 })
    match(await ask(banned, bans), { verdict: 'banned' }, 'strikes are remembered')
    await tried.reopen()
    match(await ask(banned, bans), {
      verdict: 'banned',
      bannedUntilMs: start + 1_001 + rules.forMs,
    })
  })
}
