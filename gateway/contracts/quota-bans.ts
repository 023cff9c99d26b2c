import assert from 'node:assert/strict'
import { isEarned } from '../front/limits/ban-ends.ts'
import { banRules } from '../front/limits/conduct.ts'
import type { Ban } from '../front/limits/store.ts'
import { noLimits } from '../front/limits/limits.ts'
import { operationPart } from '../front/limits/parts.ts'
import { dayMs, minuteMs } from '../../shared/windows.ts'
import { rules, start, type Declare, type TriedStore } from './tried-quotas.ts'
import { match, until } from './contract.ts'

/** The part of the contract of `QuotaStore` about strikes and bans. */
export function bansContract(test: Declare, tried: TriedStore): void {
  const { setTime, newName, ask, verdicts } = tried
  const bans = { bans: rules, limits: { perMinute: 1, perDay: 1_000 } }
  test('what comes within the grace is no strike; then three are a ban', async () => {
    const quota = newName()
    setTime(start)
    match(await verdicts(quota, 51, bans), /^admitted( refused){50}$/)
    setTime(start + 1_000)
    match(
      await ask(quota, bans),
      { verdict: 'refused', strikes: 0 },
      'to the last millisecond of it',
    )
    setTime(start + 1_001)
    assert.equal(await verdicts(quota, 2, bans), 'refused refused')
    const banned = await ask(quota, bans)
    match(banned, {
      verdict: 'banned',
      bans: true,
      bannedUntilMs: start + 1_001 + rules.forMs,
    })
    setTime(start + 200_000)
    const again = await ask(quota, bans)
    match(
      again,
      { verdict: 'banned', bans: false, bannedUntilMs: banned.bannedUntilMs },
      'it is not extended',
    )
    setTime(banned.bannedUntilMs - 1)
    match(await ask(quota, bans), { verdict: 'banned' })
    setTime(banned.bannedUntilMs)
    match(
      await ask(quota, bans),
      { verdict: 'admitted', dayUsed: 2 },
      'then the key works, and its counters stand',
    )
  })
  test('an earned ban never ends with a whole second, as an operator’s does', async () => {
    const quota = newName()
    setTime(start)
    await verdicts(quota, 2, bans)
    setTime(start + 2_000)
    await verdicts(quota, 2, bans)
    const earned = await ask(quota, bans)
    assert.equal(earned.bannedUntilMs, start + 2_000 + rules.forMs - 1)
    assert.ok(isEarned(earned.bannedUntilMs))
  })
  test('an admitted request ends an episode; strikes that are too old do not count', async () => {
    const quota = newName()
    for (let i = 0; i < 6; i++) {
      setTime(start + i * minuteMs)
      assert.equal(await verdicts(quota, 2, bans), 'admitted refused')
      setTime(start + i * minuteMs + 2_000)
      match(await ask(quota, bans), { verdict: 'refused' }, 'one strike a minute is no ban')
    }
  })
  test('each further ban lasts longer, up to the most, until it is forgotten', async () => {
    const quota = newName()
    let now = start
    const lasts = async () => {
      setTime(now)
      await verdicts(quota, 2, bans)
      setTime((now += 1_001))
      await verdicts(quota, 2, bans)
      const { bannedUntilMs } = await ask(quota, bans)
      const lasted = bannedUntilMs - now
      now = Math.ceil(bannedUntilMs / minuteMs) * minuteMs
      return lasted
    }
    assert.deepEqual(
      [await lasts(), await lasts(), await lasts(), await lasts()],
      [300_000, 600_000, 1_000_000, 1_000_000],
    )
    now += rules.memoryMs
    assert.equal(await lasts(), 300_000)
  })
  test('what a longer window refuses is never a strike, alone or beside a minute', async () => {
    const part = operationPart('exports', { ...noLimits, perHour: 2 })
    for (const [name, more] of Object.entries({
      'an hour': { limits: { perMinute: 9, perHour: 2, perDay: 99 } },
      'a day': { limits: { perMinute: 9, perDay: 2 } },
      'a month': { limits: { perMinute: 9, perDay: 99, perMonth: 2 } },
      'a minute and a day': { limits: { perMinute: 2, perDay: 2 } },
      'an hour of a part, and a minute': {
        limits: { perMinute: 2, perDay: 99 },
        parts: [part],
      },
    })) {
      const quota = newName()
      setTime(start)
      assert.equal(await verdicts(quota, 3, { bans: rules, ...more }), 'admitted admitted refused')
      setTime(start + 2_000)
      match(await verdicts(quota, 9, { bans: rules, ...more }), /^refused( refused){8}$/, name)
      match(await ask(quota, { bans: rules, ...more }), { strikes: 0 }, name)
    }
  })
  test('strikes of a share: dearer requests are banned by fewer, 20 at least', async () => {
    const limits = { perMinute: 60, perDay: 1_000 }
    for (const [cost, strikes] of [
      [1, 60],
      [2, 30],
      [30, 20],
    ] as const) {
      const quota = newName()
      setTime(start)
      const asked = {
        cost,
        limits,
        bans: banRules({ ...rules, strikes: { percent: 100 } }, limits),
      }
      await verdicts(quota, 60 / cost + 1, asked)
      setTime(start + 1_001)
      assert.doesNotMatch(await verdicts(quota, strikes - 1, asked), /banned/, `${cost} points`)
      match(await ask(quota, asked), { verdict: 'banned', bans: true }, `${cost} points`)
    }
  })
  test('of an earlier minute, a refusal begins no episode', async () => {
    const quota = newName()
    setTime(start)
    assert.equal(await verdicts(quota, 2, bans), 'admitted refused')
    setTime(start + minuteMs)
    assert.equal(await verdicts(quota, 1, { ...bans, key: 'other' }), 'admitted')
    match(await verdicts(quota, 9, bans), /^refused( refused){8}$/, 'it had waited')
    match(await ask(quota, bans), { strikes: 0 })
  })
  test('strikes count within a time from the first one on', async () => {
    const quota = newName()
    const hourly = { ...bans, bans: { ...rules, withinMs: 20_000 } }
    setTime(start)
    await verdicts(quota, 2, hourly)
    for (const [afterMs, strikes] of [
      [2_000, 1],
      [21_999, 2],
      [22_000, 1],
      [41_999, 2],
    ] as const) {
      setTime(start + afterMs)
      match(await ask(quota, hourly), { verdict: 'refused', strikes }, `after ${afterMs} ms`)
    }
    match(await ask(quota, hourly), { verdict: 'banned' })
  })
  test('strikes and bans are a key’s, not its account’s', async () => {
    const quota = newName()
    setTime(start)
    await verdicts(quota, 2, bans)
    setTime(start + 1_001)
    assert.equal(await verdicts(quota, 3, bans), 'refused refused banned')
    assert.equal((await ask(quota, { ...bans, key: 'other' })).verdict, 'refused')
    assert.equal(
      (await ask(quota, { ...bans, key: 'other', limits: { perMinute: 9, perDay: 9 } })).verdict,
      'admitted',
    )
  })
  test('bans can be set, listed and lifted', async () => {
    const quota = newName()
    setTime(start)
    let forgiven = 0
    const end = tried.store.watch({ banned: () => undefined, forgiven: () => forgiven++ })
    await tried.store.ban(quota, 'bad', start + 5_000)
    match(await ask(quota, { key: 'bad' }), {
      verdict: 'banned',
      bannedUntilMs: start + 5_000,
    })
    await tried.store.ban(quota, 'bad', start + 9_000)
    const listed = (await tried.store.bans()).filter((ban) => ban.quota === quota)
    assert.deepEqual(listed, [{ key: 'bad', quota, untilMs: start + 9_000 }])
    assert.equal(await tried.store.lift(quota, 'bad'), true)
    assert.equal(await tried.store.lift(quota, 'bad'), false)
    await until(() => forgiven > 0, 'a lift to be told')
    end()
    assert.deepEqual(
      (await tried.store.bans()).filter((ban) => ban.quota === quota),
      [],
    )
    match(await ask(quota, { key: 'bad' }), { verdict: 'admitted' })
  })

  test('who watches hears of bans', async () => {
    const quota = newName()
    setTime(start)
    const heard: string[] = []
    const banned = ({ key }: Ban) => heard.push(key)
    const end = tried.store.watch({ banned, forgiven: () => undefined })
    // It may hear from a connection on.
    const isHeard = async () => {
      await tried.store.ban(quota, 'bad', start + 5_000)
      return heard.includes('bad')
    }
    await until(isHeard, 'a ban to be told')
    end()
  })

  test('a ban outlasts what sister keys do, however long it is', async () => {
    const quota = newName()
    setTime(start)
    const years = start + 3_600 * dayMs
    await tried.store.ban(quota, 'bad', years)
    for (let day = 0; day < 5; day++) {
      setTime(start + day * dayMs)
      match(await ask(quota, { key: 'good' }), { verdict: 'admitted' })
    }
    match(await ask(quota, { key: 'bad' }), { verdict: 'banned', bannedUntilMs: years })
    await tried.reopen()
    match(await ask(quota, { key: 'bad' }), { verdict: 'banned', bannedUntilMs: years })
    await tried.store.lift(quota, 'bad')
  })
}
