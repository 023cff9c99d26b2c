import assert from 'node:assert/strict'
import { unanswered } from '../front/limits/counters.ts'
import { byWindow, dayMs, hourMs, minuteMs, windows } from '../../shared/windows.ts'
import { numbersOf } from './counters.ts'
import { start, type Declare, type TriedStore } from './tried-quotas.ts'
import { match } from './contract.ts'

const unlimited = { perMinute: Infinity, perDay: Infinity }

/** The part of the contract of `QuotaStore` about long windows: what limits, grants and commands find in them. */
export function longWindowsContract(test: Declare, tried: TriedStore): void {
  const { setTime, newName, ask } = tried

  test('a limit that is added later counts what its window has used', async () => {
    const quota = newName()
    const first = Date.UTC(2026, 5, 1)
    for (const afterMs of [0, 3 * dayMs, 14 * dayMs, 14 * dayMs + hourMs]) {
      setTime(first + afterMs)
      await ask(quota, { cost: 2, limits: unlimited })
    }
    const limited = { ...unlimited, perHour: 3, perMonth: 10 }
    match(await ask(quota, { limits: limited, cost: 0 }), { hourUsed: 2, monthUsed: 8 })
    match(await ask(quota, { limits: limited, cost: 2 }), { verdict: 'refused' }, 'of the hour')
    match(await ask(quota, { limits: limited }), { verdict: 'admitted', hourUsed: 3 })
    setTime(first + 15 * dayMs)
    match(await ask(quota, { limits: limited }), { verdict: 'admitted', monthUsed: 10 })
    match(await ask(quota, { limits: limited }), { verdict: 'refused' }, 'of the month')
    // Another plan.
    match(await ask(quota, { limits: { perMinute: 1, perDay: 9 } }), { verdict: 'refused' })
    match(await ask(quota, { limits: { ...unlimited, perMonth: 11 } }), { monthUsed: 11 })
    // A second is counted from the first question that limits it on.
    const brief = { ...unlimited, perSecond: 2 }
    match(await ask(quota, { limits: brief, cost: 2 }), { verdict: 'admitted', secondUsed: 2 })
    match(await ask(quota, { limits: brief }), { verdict: 'refused', secondUsed: 2 })
    await tried.reopen()
    match(await ask(quota, { limits: limited, cost: 0 }), { hourUsed: 4, monthUsed: 13 })
  })

  test('points come back to those long windows of an admission that still run', async () => {
    for (const [afterMs, hourUsed, dayUsed, monthUsed] of [
      [minuteMs, 1, 1, 1],
      [hourMs, 0, 1, 1],
      [dayMs, 0, 0, 1],
      [31 * dayMs, 0, 0, 0],
    ] as const) {
      const quota = newName()
      setTime(start)
      const { seen } = await ask(quota, { cost: 3, limits: unlimited })
      setTime(start + afterMs)
      await ask(quota, { cost: 0, limits: unlimited })
      await tried.store.adjust(quota, unanswered(2), { counters: seen })
      const back = await ask(quota, { cost: 0, limits: unlimited })
      match(back, { hourUsed, dayUsed, monthUsed }, `${afterMs} ms later`)
      assert.equal(back.minuteUsed, 0)
    }
  })

  test('what was granted to a month doesn’t come again in a later one', async () => {
    const quota = newName()
    setTime(Date.UTC(2027, 0, 10))
    await tried.store.setMonthFrom(quota, 15)
    assert.equal(await tried.store.grant(quota, { perMonth: 5, by: 'a' }), true)
    match(await ask(quota), { granted: { perMonth: 5 } })
    setTime(Date.UTC(2027, 0, 14, 23, 59, 59, 999))
    match(await ask(quota), { granted: { perMonth: 5 } })
    setTime(Date.UTC(2027, 1, 10))
    assert.equal((await ask(quota)).granted, undefined)
    assert.equal(await tried.store.grant(quota, { perHour: 1, by: 'a' }), true)
    assert.deepEqual((await ask(quota)).granted, { perHour: 1 })
  })

  test('what was granted to a month comes back with it, if an operator moves it back', async () => {
    const quota = newName()
    setTime(Date.UTC(2027, 0, 10))
    assert.equal(await tried.store.grant(quota, { perMonth: 5, by: 'a' }), true)
    setTime(Date.UTC(2027, 0, 20))
    for (const [from, granted] of [
      [15, undefined],
      [1, { perMonth: 5 }],
    ] as const) {
      await tried.store.setMonthFrom(quota, from)
      assert.deepEqual((await ask(quota)).granted, granted, `from ${from}`)
    }
  })

  test('a reset, a lost write and a report are the same for each window', async () => {
    const quota = newName()
    setTime(start)
    const { seen } = await ask(quota, { cost: 4, limits: unlimited })
    const lost = newName()
    const all = { hourUsed: 5, dayUsed: 5, monthUsed: 5, minuteUsed: 5 }
    match(await ask(lost, { limits: unlimited, seen }), all)
    const owed = { ...seen, by: 'gateway', number: 1 }
    setTime(start + hourMs)
    const later = { minuteUsed: 1, hourUsed: 1, dayUsed: 9, monthUsed: 9 }
    match(await ask(quota, { limits: unlimited, owed }), later, 'the hour is over')
    setTime(start + dayMs)
    const report = { limits: unlimited, owed: { ...owed, number: 2 } }
    match(await ask(quota, report), { hourUsed: 1, dayUsed: 1, monthUsed: 14 }, 'and the day')
    await tried.store.reset(quota)
    const none = { minuteUsed: 0, hourUsed: 0, dayUsed: 0, monthUsed: 0 }
    match(await ask(quota, { limits: unlimited, cost: 0, seen }), none)
    const late = { ...report, owed: { ...owed, number: 3 } }
    match(await ask(quota, { ...late, cost: 0 }), none, 'a report of before a reset is void')
  })

  test('each window ends at its edge, and none before', async () => {
    const limits = { ...unlimited, perSecond: 99, perHour: 99, perMonth: 99 }
    const edges = {
      second: [Date.UTC(2028, 1, 28, 3, 4, 6)],
      minute: [Date.UTC(2028, 1, 28, 3, 5)],
      hour: [Date.UTC(2028, 1, 28, 4)],
      day: [Date.UTC(2028, 1, 29), Date.UTC(2027, 1, 28)],
      // Mondays in a month, and after a new year.
      week: [Date.UTC(2028, 1, 28), Date.UTC(2027, 0, 4)],
      // One of them on a Monday.
      month: [Date.UTC(2028, 2, 1), Date.UTC(2027, 1, 1), Date.UTC(2028, 0, 1)],
    }
    for (const { name } of windows) {
      for (const edge of edges[name]) {
        const quota = newName()
        setTime(edge - 1)
        const before = await ask(quota, { limits })
        setTime(edge)
        const after = await ask(quota, { limits })
        // Shorter windows end with a longer one, but a week goes on over the first of a month, and a month over a Monday.
        const lasts = windows.findIndex((window) => window.name === name)
        const date = new Date(edge)
        const begins = { week: date.getUTCDay() === 1, month: date.getUTCDate() === 1 }
        const expected = windows.map((window, i) =>
          i <= lasts && (begins[window.name as 'week'] ?? true) ? 1 : 2,
        )
        const used = byWindow((window) => after[`${window.name}Used`])
        assert.deepEqual(
          Object.values(used),
          expected,
          `${name} at ${new Date(edge).toISOString()}`,
        )
        assert.notEqual(numbersOf(before.seen)[name], numbersOf(after.seen)[name])
      }
    }
  })

  test('a month begins on the day of the quota’s choice', async () => {
    const limits = { ...unlimited, perMonth: 3 }
    for (const [from, edges] of [
      [28, ['2027-02-28', '2027-03-28', '2028-02-28', '2028-03-28']],
      [15, ['2027-12-15', '2028-01-15', '2028-02-15']],
    ] as const) {
      const quota = newName()
      setTime(Date.parse(edges[0]) - 20 * dayMs)
      await tried.store.setMonthFrom(quota, from)
      for (const edge of edges) {
        setTime(Date.parse(edge) - 1)
        await ask(quota, { limits })
        match(await ask(quota, { limits, cost: 3 }), { verdict: 'refused' }, edge)
        setTime(Date.parse(edge))
        match(await ask(quota, { limits, cost: 3 }), { verdict: 'admitted', monthUsed: 3 }, edge)
        match(await ask(quota, { limits }), { verdict: 'refused', monthUsed: 3 }, edge)
      }
    }
  })
}
