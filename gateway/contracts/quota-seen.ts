import assert from 'node:assert/strict'
import { dayMs, minuteMs } from '../../shared/windows.ts'
import { counted, numbersOf } from './counters.ts'
import { start, type Declare, type TriedStore } from './tried-quotas.ts'
import { match } from './contract.ts'

/** The part of the contract of `QuotaStore` about what gateways tell a store: what they have seen, and admitted without it. */
export function seenContract(test: Declare, tried: TriedStore): void {
  const { setTime, newName, ask, verdicts } = tried
  test('what was admitted without the store comes on top, while its windows run', async () => {
    const quota = newName()
    setTime(start)
    const wide = { limits: { perMinute: 100, perDay: 1_000 } }
    const { seen } = await ask(quota, wide)
    const owed = { ...counted(seen, { minute: 10, day: 30 }), by: 'one', number: 1 }
    match(await ask(quota, { ...wide, owed }), { minuteUsed: 12, dayUsed: 32 })
    match(await ask(quota, { ...wide, owed }), { minuteUsed: 13, dayUsed: 33 }, 'once')
    const { minute } = numbersOf(seen)
    const past = { ...counted(owed, {}, { numbers: { minute: minute - 1 } }), number: 2 }
    match(await ask(quota, { ...wide, owed: past }), { minuteUsed: 14, dayUsed: 64 })
    await tried.store.reset(quota)
    const late = { ...owed, number: 3 }
    match(await ask(quota, { ...wide, owed: late }), { dayUsed: 1 }, 'but not past a reset')
  })

  test('what a gateway has seen is believed where the store knows less', async () => {
    setTime(start)
    const known = newName()
    await verdicts(known, 2)
    const { seen } = await ask(known)
    const lost = newName()
    match(
      await ask(lost, { seen }),
      { verdict: 'refused', minuteUsed: 3, dayUsed: 3 },
      'the larger of both',
    )
    match(await ask(lost), { minuteUsed: 3 }, 'and it is kept')
    match(await ask(known, { seen: counted(seen, { minute: 1, day: 1 }) }), { minuteUsed: 3 })
    const banned = { ...counted(seen, { minute: 0, day: 0 }), bannedUntilMs: start + 5_000 }
    match(await ask(newName(), { seen: banned }), {
      verdict: 'banned',
      bannedUntilMs: start + 5_000,
    })
    const { minute, day } = numbersOf(seen)
    const numbers = { minute: minute - 1, day: day - 1 }
    match(
      await ask(newName(), { seen: counted(seen, {}, { numbers }) }),
      { minuteUsed: 1, dayUsed: 1 },
      'but not of windows that have ended',
    )
    await tried.store.reset(known)
    match(
      await ask(known, { seen }),
      { verdict: 'admitted', minuteUsed: 1 },
      'nor of before a reset',
    )
    await tried.store.ban(known, 'k', start + 9_000)
    const carried = { ...(await ask(known)).seen, bannedUntilMs: start + 9_000 }
    await tried.store.lift(known, 'k')
    match(await ask(known, { seen: carried }), { verdict: 'admitted' }, 'nor of before a lift')
  })

  test('a generation that is newer elsewhere ends what the store had, bans included', async () => {
    const quota = newName()
    setTime(start)
    await tried.store.ban(quota, 'k', start + 9_000)
    const { seen } = await ask(quota, { cost: 0 })
    const counts = counted(seen, { minute: 1, hour: 1, day: 1, week: 1, month: 1 })
    const newer = { ...counts, generation: seen.generation + 5, bannedUntilMs: 0 }
    match(await ask(quota, { seen: newer }), { verdict: 'admitted', minuteUsed: 2 })
    assert.equal(await verdicts(quota, 2), 'admitted refused', 'and stays ended')
  })

  test('nor is what a gateway has seen of one minute counted in another', async () => {
    for (const [afterMs, minuteUsed, dayUsed] of [
      [-50, 2, 2],
      [-2 * minuteMs, 1, 2],
      [minuteMs, 1, 2],
      [dayMs, 1, 1],
    ] as const) {
      const quota = newName()
      setTime(start)
      const { seen } = await ask(quota)
      setTime(start + afterMs)
      match(await ask(quota, { seen }), { minuteUsed, dayUsed }, `${afterMs} ms later`)
    }
  })
}
