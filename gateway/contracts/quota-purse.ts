import assert from 'node:assert/strict'
import fc from 'fast-check'
import { usedIn, unanswered } from '../front/limits/counters.ts'
import { countersByPart } from '../front/limits/parts.ts'
import { takenPart } from '../front/limits/purse.ts'
import { limitsIn, type Ask, type Decision } from '../front/limits/step.ts'
import { mostTopUps } from '../front/limits/top-ups.ts'
import { dayMs, dayWindow, numberAt, windowOf } from '../../shared/windows.ts'
import { match } from './contract.ts'
import { PurseModel, type Admitted } from './purse-model.ts'
import { start, type Declare, type TriedStore } from './tried-quotas.ts'

const unlimited = { perMinute: Infinity, perDay: Infinity }
const month = windowOf('month')

/** A month of 10 included points, and beyond them what was bought. */
const prepaid: Partial<Ask> = {
  limits: unlimited,
  included: { ...unlimited, perMonth: 10 },
  prepaid: month,
}

/** What a decision tells of its purse: verdict, included points left, bought ones left, the limit and the bought points it took. */
function told(decision: Decision) {
  const { purse, verdict } = decision
  if (!purse) return verdict
  const limit = limitsIn(decision, unlimited).perMonth
  return [verdict, purse.room, purse.bought - purse.spent, limit, purse.took].join(' ')
}

/** Something that happens to a quota with a purse. */
const event = fc.record({
  afterMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 90_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: dayMs, max: 20 * dayMs }) },
  ),
  what: fc.oneof(
    { weight: 8, arbitrary: fc.constant('ask' as const) },
    { weight: 5, arbitrary: fc.constantFrom('topUp', 'take', 'less', 'more') },
    { weight: 1, arbitrary: fc.constantFrom('reset', 'reopen') },
  ),
  cost: fc.integer({ min: 1, max: 12 }),
  least: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 16 })),
  knows: fc.boolean(),
})

/** The counters and the purse that a gateway has seen by a decision. */
function allSeen({ seen, purse }: Decision): Ask['seen'] {
  return purse && { ...seen, purse, parts: new Map([[takenPart, purse.taken]]) }
}

/** The part of the contract of `QuotaStore` about points that were bought in advance. */
export function purseContract(test: Declare, tried: TriedStore, stories: number): void {
  const { setTime, newName, ask } = tried
  let ids = 0
  const topUp = (quota: string, points: number, id = `id-${++ids}`) =>
    tried.store.topUp(quota, { id, points, by: 'a', note: 'x\n"y"' })
  const tell = async (quota: string, cost: number, more: Partial<Ask> = {}) =>
    told(await ask(quota, { ...prepaid, cost, ...more }))
  const adjust = (
    quota: string,
    points: number,
    decision: Decision,
    { isAnswered = true, isLate = false } = {},
  ) => {
    const { seen: counters, parts, included, purse } = decision
    const admission = { counters, parts: countersByPart(parts), included, purse }
    return tried.store.adjust(quota, { points, isAnswered, isLate }, admission)
  }

  test('included points are taken first, then those that were bought', async () => {
    const quota = newName()
    setTime(start)
    assert.equal(await tell(quota, 8), 'admitted 2 0 10 0')
    assert.equal(await tell(quota, 3), 'refused 2 0 10 0', 'nothing was bought')
    match(await topUp(quota, 5, 'one'), { outcome: 'done', topUp: { points: 5, left: 5 } })
    assert.equal(await tell(quota, 0), 'admitted 2 5 15 0')
    assert.equal(await tell(quota, 3), 'admitted 0 4 15 1')
    assert.equal(await tell(quota, 5), 'refused 0 4 15 0')
    assert.equal(await tell(quota, 1, { least: 5 }), 'refused 0 4 15 0', 'an estimate needs room')
    assert.equal(await tell(quota, 1, { least: 4 }), 'admitted 0 3 15 1')
    assert.equal(await tell(quota, 3), 'admitted 0 0 15 3')
    assert.equal(await tell(quota, 1), 'refused 0 0 15 0')
    const day = numberAt(dayWindow, start)
    assert.deepEqual(await tried.usedOn(quota, day), { quota, points: 15, beyond: 5 })
    await tried.reopen()
    assert.equal(await tell(quota, 1), 'refused 0 0 15 0', 'a restart forgets none of it')
    setTime(Date.UTC(2026, 6, 1))
    assert.equal(await tell(quota, 4), 'admitted 6 0 10 0', 'a month later')
    match(await ask(quota, { ...prepaid, limits: unlimited, prepaid: undefined }), {
      verdict: 'admitted',
      purse: undefined,
    })
  })

  test('a top-up counts once by its id, and two at once both count', async () => {
    const quota = newName()
    setTime(start)
    match(await topUp(quota, 5, 'one'), { outcome: 'done', topUp: { left: 5, atMs: start } })
    setTime(start + 1_000)
    const first = { id: 'one', points: 5, atMs: start, left: 5, by: 'a', note: 'x\n"y"' }
    assert.deepEqual(await topUp(quota, 5, 'one'), { outcome: 'again', topUp: first })
    match(await topUp(quota, 6, 'one'), { outcome: 'other', topUp: { points: 5 } })
    match(await topUp(quota, -6), { outcome: 'short', left: 5 })
    match(await topUp(quota, -2, 'two'), { outcome: 'done', topUp: { left: 3 } })
    await Promise.all(Array.from({ length: 40 }, () => topUp(quota, 2)))
    assert.equal(await tell(quota, 0), 'admitted 10 83 93 0')
    const all = await tried.store.topUps(quota)
    assert.equal(all.length, 42)
    assert.deepEqual(all[0], first)
    await tried.reopen()
    match(await topUp(quota, 5, 'one'), { outcome: 'again' }, 'also after a restart')
    assert.equal(await tell(quota, 0), 'admitted 10 83 93 0')
  })

  test('the newest ids are kept', async () => {
    const quota = newName()
    setTime(start)
    await topUp(quota, 1, 'first')
    for (let i = 0; i < mostTopUps; i++) await topUp(quota, 1, `n${i}`)
    const all = await tried.store.topUps(quota)
    assert.deepEqual([all.length, all[0]?.id, all.at(-1)?.id], [mostTopUps, 'n0', 'n999'])
  })

  test('bought points come back first, also after the end of their window', async () => {
    const quota = newName()
    setTime(start)
    await topUp(quota, 20)
    const mixed = await ask(quota, { ...prepaid, cost: 12 })
    assert.equal(told(mixed), 'admitted 0 18 30 2')
    match(await adjust(quota, -12, mixed, { isAnswered: false }), {
      purse: { bought: 22, spent: 2 },
    })
    assert.equal(await tell(quota, 0), 'admitted 10 20 30 0')
    const later = await ask(quota, { ...prepaid, cost: 13 })
    setTime(Date.UTC(2026, 6, 1))
    await adjust(quota, -13, later, { isAnswered: false })
    assert.equal(
      await tell(quota, 0),
      'admitted 10 20 30 0',
      'the included ones end with their month',
    )
    setTime(Date.UTC(2026, 6, 2))
    const early = await ask(quota, { ...prepaid, cost: 10 })
    const other = await ask(quota, { ...prepaid, cost: 3 })
    assert.equal(told(other), 'admitted 0 17 30 3')
    await adjust(quota, -10, early, { isAnswered: false })
    assert.equal(await tell(quota, 0), 'admitted 7 20 30 0', 'whoever has taken them')
  })

  test('what was let in too late brings no more bought points back than it took', async () => {
    const quota = newName()
    setTime(start)
    await topUp(quota, 5)
    const late = await ask(quota, { ...prepaid, cost: 8 })
    await tell(quota, 5)
    await adjust(quota, -8, late, { isLate: true })
    assert.equal(await tell(quota, 0), 'admitted 8 2 15 0')
  })

  test('a dearer answer is paid, and the next top-up pays first what lacks', async () => {
    const quota = newName()
    setTime(start)
    await topUp(quota, 3)
    const decision = await ask(quota, { ...prepaid, cost: 6 })
    await adjust(quota, 6, decision)
    assert.equal(await tell(quota, 0), 'admitted 0 1 13 0', 'included points first')
    await adjust(quota, 5, decision)
    assert.equal(await tell(quota, 0), 'admitted 0 -4 17 0')
    assert.equal(await tell(quota, 1), 'refused 0 -4 17 0')
    match(await topUp(quota, 4), { topUp: { left: 0 } })
    assert.equal(await tell(quota, 1), 'refused 0 0 17 0')
    setTime(Date.UTC(2026, 6, 1))
    await adjust(quota, 3, decision)
    assert.equal(await tell(quota, 0), 'admitted 10 0 10 0', 'within what was left of its month')
    const full = await ask(quota, { ...prepaid, cost: 10 })
    setTime(Date.UTC(2026, 7, 1))
    await adjust(quota, 3, full)
    assert.equal(await tell(quota, 0), 'admitted 10 -3 10 0', 'and beyond it')
    const july = numberAt(dayWindow, Date.UTC(2026, 6, 1))
    setTime(Date.UTC(2026, 6, 1))
    match(await tried.usedOn(quota, july), { points: 13, beyond: 3 })
  })

  test('a reset leaves the purse, and what comes back of before it does so', async () => {
    const quota = newName()
    setTime(start)
    await topUp(quota, 10)
    const decision = await ask(quota, { ...prepaid, cost: 14 })
    await tried.store.reset(quota)
    assert.equal(await tell(quota, 0), 'admitted 10 6 16 0')
    await adjust(quota, -14, decision, { isAnswered: false })
    assert.equal(await tell(quota, 0), 'admitted 10 10 20 0')
    await tried.store.setMonthFrom(quota, 10)
    assert.equal(await tell(quota, 12), 'admitted 0 8 20 2')
    await tried.store.grant(quota, { perMinute: 0, perDay: 0, perMonth: 5, by: 'a' })
    assert.equal(await tell(quota, 3), 'admitted 2 8 25 0', 'a grant adds to the included points')
    const more = { ...prepaid, included: { ...unlimited, perMonth: 1 } }
    assert.equal(await tell(quota, 7, more), 'admitted 0 1 23 7', 'a limit that is less')
    assert.equal(
      await tell(quota, 0),
      'admitted 2 1 25 0',
      'and what was taken beyond it stays taken',
    )
  })

  test('who has seen less takes what is included until others have taken it', async () => {
    const quota = newName()
    setTime(start)
    await topUp(quota, 1)
    const seen = allSeen(await ask(quota, { ...prepaid, cost: 1 }))
    await tell(quota, 8)
    assert.equal(await tell(quota, 2, { seen, atMs: start }), 'admitted 0 0 11 1')
  })

  test('a store that lacks writes takes what a gateway has seen', async () => {
    setTime(start)
    const [known, lost] = [newName(), newName()]
    await topUp(known, 20)
    const decision = await ask(known, { ...prepaid, cost: 15 })
    const all = allSeen(decision)
    assert.equal(await tell(lost, 1, { seen: all }), 'admitted 0 14 30 1')
    assert.equal(await tell(lost, 0), 'admitted 0 14 30 0', 'and it is kept')
    const day = numberAt(dayWindow, start)
    match(await tried.usedOn(lost, day), { points: 16, beyond: 6 })
    await tried.store.reset(known)
    assert.equal(
      await tell(known, 0, { seen: all }),
      'admitted 10 15 25 0',
      'counts but after a reset',
    )
    match(await topUp(lost, 5), { topUp: { left: 19 } })
    const none = { ...(await ask(newName(), { cost: 0 })).seen, total: 2 }
    const owed = { ...none, parts: new Map([[takenPart, none]]), by: 'one', number: 1 }
    const other = newName()
    await ask(other, { limits: unlimited, cost: 0, owed, key: '', seen: all })
    assert.equal(await tell(other, 0, { seen: all }), 'admitted 0 13 30 0', 'before a report')
    const bought = newName()
    const { seen } = await ask(bought, { ...prepaid, cost: 1 })
    const withPurse = { ...seen, purse: { bought: 20, spent: 0, topUps: 1, last: 20 } }
    await tell(bought, 1, { seen: withPurse, atMs: start })
    assert.equal(await tell(bought, 0), 'admitted 8 20 30 0', 'beside counters that lack none')
  })

  test('what a gateway took without the store is taken once', async () => {
    const quota = newName()
    setTime(start)
    await topUp(quota, 20)
    await ask(quota, { ...prepaid, cost: 4 })
    const { seen, purse } = await ask(newName(), { ...prepaid, cost: 0 })
    if (!purse) throw new Error('there is a purse')
    const points = { ...seen, total: 8 }
    const parts = new Map([[takenPart, { ...purse.taken, total: 2 }]])
    const owed = { ...points, parts, by: 'one', number: 1 }
    const report = () => ask(quota, { limits: unlimited, cost: 0, owed, key: '' })
    await report()
    await report()
    assert.equal(await tell(quota, 0), 'admitted 0 18 30 0')
    setTime(Date.UTC(2026, 6, 1))
    await ask(quota, { limits: unlimited, cost: 0, owed: { ...owed, number: 2 } })
    assert.equal(await tell(quota, 0), 'admitted 10 16 26 0', 'also of a month that has ended')
    await tried.store.reset(quota)
    await ask(quota, { limits: unlimited, cost: 0, owed: { ...owed, number: 3 } })
    assert.equal(await tell(quota, 0), 'admitted 10 14 24 0', 'or before a reset')
  })

  test('an operator who is refused changes nothing', async () => {
    const quota = newName()
    setTime(start)
    await topUp(quota, 1, 'one')
    await tell(quota, 4)
    setTime(start + dayMs)
    match(await topUp(quota, 1, 'one'), { outcome: 'again' })
    match(await topUp(quota, -2), { outcome: 'short' })
    await tell(quota, 2)
    match(await tried.usedOn(quota, numberAt(dayWindow, start)), { points: 4 })
  })

  test('purses do what a model does', async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 60 }), async (events) => {
        const quota = newName()
        let now = start + ++runs * dayMs
        const model = new PurseModel()
        let known: Admitted | undefined
        let last: Decision | undefined
        for (const { afterMs, what, cost, least, knows } of events) {
          now += afterMs
          setTime(now)
          model.roll(now)
          if (what === 'reopen') await tried.reopen()
          else if (what === 'reset') {
            await tried.store.reset(quota)
            model.reset()
          } else if (what === 'topUp' || what === 'take') {
            const points = what === 'take' ? -cost : cost
            const { outcome } = await topUp(quota, points)
            assert.equal(outcome, model.topUp(points), 'an operator')
          } else if (what === 'less' || what === 'more') {
            if (!known) continue
            const points = what === 'less' ? -Math.min(cost, known.cost) : cost
            await adjust(quota, points, known.decision)
            model.adjust(points, known)
            if (what === 'less') known = undefined
          } else {
            const seen = knows && last ? allSeen(last) : undefined
            const decision = await ask(quota, { ...prepaid, cost, least, seen, atMs: now })
            // Another gateway has mostly asked since.
            if (knows) last = decision
            const [expected, admitted] = model.ask(cost, Math.max(cost, least))
            assert.equal(told(decision), expected, 'a decision')
            if (admitted) known = { ...admitted, cost, decision }
          }
        }
        assert.equal(await tell(quota, 0), model.ask(0, 0)[0], 'in the end')
      }),
      { numRuns: stories },
    )
  })

  test('what comes back is below nothing of a purse', async () => {
    const quota = newName()
    setTime(start)
    const { seen } = await ask(quota, { limits: unlimited, cost: 3 })
    await tried.store.adjust(quota, unanswered(3), { counters: seen })
    assert.equal(await tell(quota, 0), 'admitted 10 0 10 0')
    assert.equal(usedIn((await ask(quota, { limits: unlimited, cost: 0 })).seen, month), 0)
  })
}
