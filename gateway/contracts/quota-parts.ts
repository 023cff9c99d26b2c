import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Limits } from '../front/limits/limits.ts'
import { capPart, countersByPart, operationPart, usedByPart } from '../front/limits/parts.ts'
import type { Decision } from '../front/limits/step.ts'
import { usedIn, unanswered } from '../front/limits/counters.ts'
import {
  byWindow,
  dayMs,
  hourMs,
  windowOf,
  windows,
  type WindowName,
} from '../../shared/windows.ts'
import { idAt } from './quota-model.ts'
import { start, type Declare, type TriedStore } from './tried-quotas.ts'
import { match } from './contract.ts'

const unlimited = { perMinute: Infinity, perDay: Infinity }
const wide: Limits = { perMinute: 100, perDay: 1_000 }

/** The part of the contract of `QuotaStore` about operations and caps: counters of the same step. */
export function partsContract(test: Declare, tried: TriedStore, stories: number): void {
  const { setTime, newName, ask } = tried
  const exportsPart = operationPart('exports', { ...unlimited, perHour: 2, perDay: 3 })
  const used = (decision: Decision) =>
    decision.parts?.map(({ counters }) => {
      const { hour, day } = byWindow((window) => usedIn(counters, window))
      return [hour, day]
    })

  test('a part has limits of its own, and nothing is counted unless all have room', async () => {
    const quota = newName()
    setTime(start)
    const more = { limits: wide, parts: [exportsPart] }
    assert.deepEqual(used(await ask(quota, { ...more, cost: 0 })), [[0, 0]])
    assert.deepEqual(used(await ask(quota, more)), [[1, 1]])
    await ask(quota, more)
    const refused = await ask(quota, more)
    match(refused, { verdict: 'refused', dayUsed: 2 }, 'and the plan is charged nothing')
    match(await ask(quota, { limits: wide }), { verdict: 'admitted', dayUsed: 3 })
    match(await ask(quota, { ...more, limits: { perMinute: 3, perDay: 9 } }), {
      verdict: 'refused',
    })
    assert.deepEqual(used(await ask(quota, { ...more, cost: 0 })), [[2, 2]], 'nor is the part')
    setTime(start + hourMs)
    match(await ask(quota, more), { verdict: 'admitted' })
    match(await ask(quota, more), { verdict: 'refused' }, 'its day is full')
    await tried.reopen()
    assert.deepEqual(used(await ask(quota, { ...more, cost: 0 })), [[1, 3]], 'a restart keeps it')
    await tried.store.reset(quota)
    assert.deepEqual(used(await ask(quota, { ...more, cost: 0 })), [[0, 0]], 'a reset empties it')
  })

  test('a report counts in the months of parts that have just begun', async () => {
    const [quota, other] = [newName(), newName()]
    setTime(start)
    const more = { limits: wide, parts: [operationPart('all', unlimited)] }
    await ask(quota, more)
    for (const name of [quota, other]) await tried.store.setMonthFrom(name, 10)
    const { seen, parts } = await ask(other, { ...more, cost: 2 })
    const owed = { ...seen, parts: countersByPart(parts), by: 'one', number: 1 }
    await ask(quota, { limits: wide, cost: 0, owed })
    const after = await ask(quota, { ...more, cost: 0 })
    assert.deepEqual(
      after.parts?.map(({ counters }) => usedIn(counters, windowOf('month'))),
      [2],
    )
  })

  test('a part goes on with its week when a month begins', async () => {
    // The first of July 2026 is a Wednesday.
    const july = Date.UTC(2026, 6, 1)
    const weekly = operationPart('exports', { ...unlimited, perWeek: 3 })
    const idle = operationPart('idle', unlimited)
    const quota = newName()
    setTime(july - 9 * dayMs)
    await ask(quota, { limits: wide, parts: [idle] })
    setTime(july - 1)
    for (let i = 0; i < 2; i++) await ask(quota, { limits: wide, parts: [weekly] })
    for (const time of [july, july + 5 * dayMs - 1]) {
      setTime(time)
      await ask(quota, { limits: wide })
    }
    const ofWeek = async () => {
      const { verdict, parts } = await ask(quota, { limits: wide, parts: [weekly] })
      return [verdict, ...(parts ?? []).map((part) => usedByPart(part, windowOf('week')))]
    }
    assert.deepEqual(await ofWeek(), ['admitted', 3])
    assert.deepEqual(await ofWeek(), ['refused', 3])
    setTime(july + 5 * dayMs)
    assert.deepEqual(await ofWeek(), ['admitted', 1], 'on Monday')
  })

  test('a report to a quota that has lost everything counts in its parts', async () => {
    setTime(start)
    const more = { limits: wide, parts: [exportsPart] }
    const { seen, parts } = await ask(newName(), { ...more, cost: 2 })
    const owed = { ...seen, parts: countersByPart(parts), by: 'one', number: 1 }
    const lost = newName()
    await ask(lost, { limits: wide, cost: 0, owed })
    assert.deepEqual(used(await ask(lost, { ...more, cost: 0 })), [[2, 2]])
  })

  test('what comes back to a quota comes back to its parts', async () => {
    const quota = newName()
    setTime(start)
    const more = {
      limits: wide,
      parts: [exportsPart, capPart('k', start, { ...unlimited, perDay: 9 })],
    }
    const decision = await ask(quota, { ...more, cost: 2 })
    await tried.store.adjust(quota, unanswered(1), {
      counters: decision.seen,
      parts: countersByPart(decision.parts),
    })
    assert.deepEqual(used(await ask(quota, { ...more, cost: 0 })), [
      [1, 1],
      [1, 1],
    ])
  })

  test('what an answer has cost is counted in parts, too, but after a reset', async () => {
    const quota = newName()
    setTime(start)
    const more = { limits: wide, parts: [exportsPart] }
    const settle = (points: number) =>
      tried.store.adjust(
        quota,
        { points, isAnswered: true },
        { counters: decision.seen, parts: countersByPart(decision.parts) },
      )
    const decision = await ask(quota, { ...more, cost: 1 })
    await settle(4)
    assert.deepEqual(used(await ask(quota, { ...more, cost: 0 })), [[5, 5]], 'also above its limit')
    await settle(-4)
    assert.deepEqual(used(await ask(quota, { ...more, cost: 0 })), [[1, 1]])
    await tried.store.reset(quota)
    await settle(4)
    assert.deepEqual(used(await ask(quota, { ...more, cost: 0 })), [[0, 0]])
  })

  test('what a gateway has seen of parts, and admitted without the store, is counted', async () => {
    const quota = newName()
    setTime(start)
    const more = { limits: wide, parts: [exportsPart] }
    const decision = await ask(quota, { ...more, cost: 2 })
    const parts = countersByPart(decision.parts)
    const seen = { ...decision.seen, parts }
    const lost = newName()
    match(await ask(lost, { ...more, seen }), { verdict: 'refused', dayUsed: 2 })
    await tried.store.reset(quota)
    match(await ask(quota, { ...more, seen }), { verdict: 'admitted' }, 'not of before a reset')
    const late = newName()
    await ask(late, { ...more, cost: 1 })
    const owed = { ...decision.seen, parts, by: 'one', number: 1 }
    const report = () => ask(late, { limits: wide, cost: 0, owed })
    await report()
    await report()
    const after = await ask(late, { ...more, cost: 0 })
    match(after, { dayUsed: 3 })
    assert.deepEqual(used(after), [[3, 3]], 'once')
  })

  test('parts do what a model does', async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 50 }), async (events) => {
        const quota = newName()
        let now = start + ++runs * dayMs * 3
        const model = new Model()
        let known: Decision | undefined
        for (const { afterMs, what, names, cost, monthFrom, knows } of events) {
          now += afterMs
          setTime(now)
          model.roll(now)
          if (what === 'reopen') await tried.reopen()
          else if (what === 'reset') {
            await tried.store.reset(quota)
            model.reset()
          } else if (what === 'month') {
            await tried.store.setMonthFrom(quota, monthFrom)
            model.setMonthFrom(monthFrom, now)
          } else {
            const parts = names.map((name) => ({ name, operation: name, limits: limitsOf[name] }))
            const seen = knows && known ? { ...known.seen, bannedUntilMs: 0 } : undefined
            const decision = await ask(quota, { cost, limits: limitsOf.quota, parts, seen })
            model.same(decision, names, cost)
            known = decision
          }
        }
      }),
      { numRuns: stories },
    )
  })
}

const limitsOf: Readonly<Record<Name, Limits>> = {
  quota: { perMinute: 12, perHour: 20, perDay: 30, perMonth: 60 },
  'op:a': { ...unlimited, perHour: 4, perDay: 6 },
  'op:b': { ...unlimited, perMinute: 2, perWeek: 7, perMonth: 9 },
  'cap:k': { perMinute: 5, perDay: 12, perWeek: 15 },
}

type Name = 'quota' | 'op:a' | 'op:b' | 'cap:k'

/** The rules of a quota with parts, as short as they can be written. */
class Model {
  #monthFrom = 1
  #ids = byWindow(() => 0)
  #used = new Map<Name, Record<WindowName, number>>()

  roll(now: number): void {
    for (const { name } of windows) {
      const id = idAt({ monthFrom: this.#monthFrom }, name, now)
      if (this.#ids[name] !== id) for (const used of this.#used.values()) used[name] = 0
      this.#ids[name] = id
    }
  }

  reset(): void {
    this.#used.clear()
  }

  setMonthFrom(monthFrom: number, now: number): void {
    if (monthFrom === this.#monthFrom) return
    this.#monthFrom = monthFrom
    this.#ids.month = idAt({ monthFrom }, 'month', now)
    for (const used of this.#used.values()) used.month = 0
  }

  same({ verdict, parts = [] }: Decision, names: readonly Name[], cost: number): void {
    const all = (['quota', ...names] as const).map((name) => {
      const used = this.#used.get(name) ?? byWindow(() => 0)
      this.#used.set(name, used)
      return { used, limits: limitsOf[name] }
    })
    const fits = all.every(({ used, limits }) =>
      windows.every(({ name, limit }) => used[name] + cost <= (limits[limit] ?? Infinity)),
    )
    const isCounted = cost > 0 && fits
    if (isCounted) for (const { used } of all) for (const { name } of windows) used[name] += cost
    const expected = [
      cost === 0 || fits ? 'admitted' : 'refused',
      ...all.slice(1).map(({ used }) => windows.slice(1).map(({ name }) => used[name])),
    ]
    const seen = [
      verdict,
      ...parts.map(({ counters }) => {
        return windows.slice(1).map((window) => usedIn(counters, window))
      }),
    ]
    if (String(seen) !== String(expected))
      throw new Error(`${seen.join()} is not ${expected.join()}`)
  }
}

const event = fc.record({
  afterMs: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(0, 1, 400) },
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 30_000 }) },
    { weight: 1, arbitrary: fc.constantFrom(60_000, hourMs, dayMs, 4 * dayMs) },
    { weight: 1, arbitrary: fc.constantFrom(7 * dayMs, 17 * dayMs, 31 * dayMs - 1) },
  ),
  what: fc.oneof(
    { weight: 30, arbitrary: fc.constant('ask') },
    { weight: 1, arbitrary: fc.constantFrom('reset', 'reopen', 'month') },
  ),
  names: fc.constantFrom<readonly Name[]>([], ['op:a'], ['op:b'], ['cap:k'], ['op:a', 'cap:k']),
  cost: fc.oneof(
    { weight: 5, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 }) },
  ),
  monthFrom: fc.integer({ min: 1, max: 28 }),
  knows: fc.boolean(),
})
