import fc from 'fast-check'
import { Redis } from 'ioredis'
import {
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterRedis,
  RateLimiterRes,
  RateLimiterUnion,
  RLWrapperBlackAndWhite,
} from 'rate-limiter-flexible'
import type { Test } from 'tap'
import { mostGrants } from '../../gateway/limits/grants.ts'
import type { Limits } from '../../gateway/limits/limits.ts'
import type { Ask, BanRules, Decision } from '../../gateway/limits/step.ts'
import { QuotaLimiter } from '../../gateway/limits/limiter.ts'
import type { QuotaStore } from '../../gateway/limits/store.ts'
import { until } from '../support/until.ts'

/** A store with a clock that tests move, and a way to forget all that is in its process's memory. */
export type MovableStore = Readonly<{
  store: QuotaStore
  /** Sets the time of the store. */
  setTime: (ms: number) => void
  /** Restarts the gateway: opens the same store again. */
  reopen: () => Promise<QuotaStore>
}>

const start = Date.UTC(2026, 5, 15, 12, 0, 0)
const minuteMs = 60_000
const dayMs = 86_400_000

export const rules: BanRules = {
  strikes: 3,
  withinMs: 60_000,
  graceMs: 1_000,
  forMs: 300_000,
  factor: 2,
  atMostMs: 1_000_000,
  memoryMs: 3_600_000,
}

/** The contract of `QuotaStore`. Each adapter runs it. */
export function quotaStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<MovableStore>,
): Promise<unknown> {
  return t.test(`a quota store: ${name}`, async (t) => {
    const opened = await open(t)
    const { setTime, reopen } = opened
    let { store } = opened
    let fresh = 0
    const newName = () => `q${++fresh}`
    const limits: Limits = { perMinute: 3, perDay: 5 }
    const ask = async (quota: string, more: Partial<Ask> = {}) =>
      store.decide(quota, { key: 'k', cost: 1, limits, ...more })
    const verdicts = async (quota: string, times: number, more: Partial<Ask> = {}) => {
      const all: string[] = []
      for (let i = 0; i < times; i++) all.push((await ask(quota, more)).verdict)
      return all.join(' ')
    }

    await t.test('grants raise this minute and this day, add up, and end with them', async (t) => {
      setTime(start)
      const quota = newName()
      t.equal(await store.grant(quota, { perMinute: 2, perDay: 0, by: 'a', note: 'x\n"y"' }), true)
      t.match(await ask(quota, { cost: 0 }), { granted: { perMinute: 2, perDay: 0 } })
      const [five, eight] = [5, 8].map((times) => Array.from({ length: times }, () => 'admitted'))
      t.equal(await verdicts(quota, 6), [...(five ?? []), 'refused'].join(' '))
      setTime(start + minuteMs)
      const next = await ask(quota)
      t.equal(next.verdict, 'refused', 'the day is full, and the minute’s grant is over')
      t.equal(next.granted, undefined)
      for (const perDay of [2, 1]) {
        t.equal(await store.grant(quota, { perMinute: 0, perDay, by: 'b' }), true)
      }
      const before = await ask(quota, { cost: 0 })
      t.match(before, { granted: { perMinute: 0, perDay: 3 }, seen: { dayUsed: 5, generation: 0 } })
      store = await reopen()
      t.equal(await verdicts(quota, 4), [...(eight ?? []).slice(5), 'refused'].join(' '))
      const minute = Math.floor(start / minuteMs)
      t.match(await store.grants(quota), [
        { minute, day: minute / 1440 - 0.5, perMinute: 2, perDay: 0, by: 'a', note: 'x\n"y"' },
        { minute: minute + 1, perMinute: 0, perDay: 2, by: 'b' },
        { minute: minute + 1, perMinute: 0, perDay: 1, by: 'b' },
      ])
      await store.reset(quota)
      t.match(await ask(quota, { cost: 0 }), { granted: { perDay: 3 }, dayUsed: 0 }, 'as it was')
      // A gateway that saw more than a store that has lost writes.
      const { seen } = await ask(quota)
      t.match(await ask(quota, { seen: { ...seen, dayUsed: 7 } }), { granted: { perDay: 3 } })
      setTime(start + dayMs)
      const tomorrow = await ask(quota)
      t.equal(tomorrow.granted, undefined)
      t.equal(await verdicts(quota, 3), 'admitted admitted refused')

      const other = newName()
      for (let i = 0; i < mostGrants; i++) {
        t.equal(await store.grant(other, { perMinute: 0, perDay: 1, by: 'a' }), true)
      }
      t.equal(await store.grant(other, { perMinute: 0, perDay: 1, by: 'a' }), false)
      t.match(await ask(other, { cost: 0 }), { granted: { perDay: mostGrants } })
      setTime(start + 2 * dayMs)
      t.equal(await store.grant(other, { perMinute: 0, perDay: 1, by: 'a' }), true, 'a day later')
      t.equal((await store.grants(other)).length, 1)
      setTime(start)
    })

    t.test('what was admitted without the store comes on top, while its windows run', async (t) => {
      const quota = newName()
      setTime(start)
      const wide = { limits: { perMinute: 100, perDay: 1_000 } }
      const { seen } = await ask(quota, wide)
      const owed = { ...seen, minuteUsed: 10, dayUsed: 30, dayGivenBack: 0, by: 'one', number: 1 }
      t.match(await ask(quota, { ...wide, owed }), { minuteUsed: 12, dayUsed: 32 })
      t.match(await ask(quota, { ...wide, owed }), { minuteUsed: 13, dayUsed: 33 }, 'once')
      const past = { ...owed, minute: owed.minute - 1, number: 2 }
      t.match(await ask(quota, { ...wide, owed: past }), { minuteUsed: 14, dayUsed: 64 })
      await store.reset(quota)
      const late = { ...owed, number: 3 }
      t.match(await ask(quota, { ...wide, owed: late }), { dayUsed: 1 }, 'but not past a reset')
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
      await store.giveBack(quota, 1, seen.day)
      t.match(await ask(quota, { cost: 0 }), { minuteUsed: 1, dayUsed: 0 })
      await store.giveBack(quota, 1, seen.day)
      await store.giveBack(quota, 1, seen.day - 1)
      t.match(await ask(quota, { cost: 0 }), { dayUsed: 0 }, 'never less than nothing')
      t.match(await ask(quota), { dayUsed: 1 })
    })

    t.test('strikes and bans', async (t) => {
      const bans = { bans: rules, limits: { perMinute: 1, perDay: 1_000 } }
      t.test('what comes within the grace is no strike; then three are a ban', async (t) => {
        const quota = newName()
        setTime(start)
        t.match(await verdicts(quota, 51, bans), /^admitted( refused){50}$/)
        setTime(start + 1_000)
        t.match(
          await ask(quota, bans),
          { verdict: 'refused', strikes: 0 },
          'to the last millisecond of it',
        )
        setTime(start + 1_001)
        t.equal(await verdicts(quota, 2, bans), 'refused refused')
        const banned = await ask(quota, bans)
        t.match(banned, {
          verdict: 'banned',
          bans: true,
          bannedUntilMs: start + 1_001 + rules.forMs,
        })
        setTime(start + 200_000)
        const again = await ask(quota, bans)
        t.match(
          again,
          { verdict: 'banned', bans: false, bannedUntilMs: banned.bannedUntilMs },
          'it is not extended',
        )
        setTime(banned.bannedUntilMs - 1)
        t.match(await ask(quota, bans), { verdict: 'banned' })
        setTime(banned.bannedUntilMs)
        t.match(
          await ask(quota, bans),
          { verdict: 'admitted', dayUsed: 2 },
          'then the key works, and its counters stand',
        )
      })
      t.test(
        'an admitted request ends an episode; strikes that are too old do not count',
        async (t) => {
          const quota = newName()
          for (let i = 0; i < 6; i++) {
            setTime(start + i * minuteMs)
            t.equal(await verdicts(quota, 2, bans), 'admitted refused')
            setTime(start + i * minuteMs + 2_000)
            t.match(await ask(quota, bans), { verdict: 'refused' }, 'one strike a minute is no ban')
          }
        },
      )
      t.test('each further ban lasts longer, up to the most, until it is forgotten', async (t) => {
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
        t.strictSame(
          [await lasts(), await lasts(), await lasts(), await lasts()],
          [300_000, 600_000, 1_000_000, 1_000_000],
        )
        now += rules.memoryMs
        t.equal(await lasts(), 300_000)
      })
      t.test('are a key’s, not its account’s', async (t) => {
        const quota = newName()
        setTime(start)
        await verdicts(quota, 2, bans)
        setTime(start + 1_001)
        t.equal(await verdicts(quota, 3, bans), 'refused refused banned')
        t.equal((await ask(quota, { ...bans, key: 'other' })).verdict, 'refused')
        t.equal(
          (await ask(quota, { ...bans, key: 'other', limits: { perMinute: 9, perDay: 9 } }))
            .verdict,
          'admitted',
        )
      })
      t.test('can be set, listed and lifted', async (t) => {
        const quota = newName()
        setTime(start)
        let forgiven = 0
        const end = store.watch({ banned: () => undefined, forgiven: () => forgiven++ })
        await store.ban(quota, 'bad', start + 5_000)
        t.match(await ask(quota, { key: 'bad' }), {
          verdict: 'banned',
          bannedUntilMs: start + 5_000,
        })
        await store.ban(quota, 'bad', start + 9_000)
        const listed = (await store.bans()).filter((ban) => ban.quota === quota)
        t.strictSame(listed, [{ key: 'bad', quota, untilMs: start + 9_000 }])
        t.equal(await store.lift(quota, 'bad'), true)
        t.equal(await store.lift(quota, 'bad'), false)
        await until(() => forgiven > 0, 1_000)
        end()
        t.strictSame(
          (await store.bans()).filter((ban) => ban.quota === quota),
          [],
        )
        t.match(await ask(quota, { key: 'bad' }), { verdict: 'admitted' })
      })
    })

    const pointsOf = async (quota: string, day: number): Promise<number> => {
      let found = 0
      for await (const some of store.points(day)) {
        for (const each of some) if (each.quota === quota) found = each.points
      }
      return found
    }

    t.test('the points of a day outlast midnight, resets and a restart', async (t) => {
      const [quota, idle] = [newName(), newName()]
      const wide = { limits: { perMinute: 100, perDay: 1_000 } }
      const midnight = start + dayMs / 2
      setTime(midnight - 1)
      const { seen } = await ask(quota, { ...wide, cost: 5 })
      const { day } = seen
      await ask(idle, { ...wide, cost: 7 })
      await store.giveBack(quota, 1, day)
      await store.reset(quota)
      await ask(quota, { ...wide, cost: 2 })
      t.equal(await pointsOf(quota, day), 6, 'before a reset and after it')
      // Of a request before the reset: the counters have two points of others only.
      await store.giveBack(quota, 3, day)
      t.equal(await pointsOf(quota, day), 3)
      t.match(await ask(quota, { ...wide, cost: 0 }), { dayUsed: 0 })
      await ask(quota, { ...wide, cost: 4 })
      setTime(midnight)
      t.equal(await pointsOf(quota, day), 7, 'nobody has asked since')
      t.match(await ask(quota, { ...wide, cost: 1 }), { dayUsed: 1 })
      t.strictSame([await pointsOf(quota, day), await pointsOf(quota, day + 1)], [7, 1])
      await store.giveBack(quota, 2, day)
      const owed = { ...seen, day, dayUsed: 10, dayGivenBack: 1, by: 'late', number: 1 }
      await ask(quota, { ...wide, owed })
      await ask(quota, { ...wide, owed })
      t.equal(await pointsOf(quota, day), 14, 'given back and admitted before midnight, told after')
      t.match(await ask(quota, { ...wide, cost: 0 }), { dayUsed: 3 })
      store = await reopen()
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

    t.test('a reset empties both windows', async (t) => {
      const quota = newName()
      setTime(start)
      await verdicts(quota, 4)
      await store.reset(quota)
      t.match(await ask(quota), { verdict: 'admitted', minuteUsed: 1, dayUsed: 1 })
    })

    t.test('what a gateway has seen is believed where the store knows less', async (t) => {
      setTime(start)
      const known = newName()
      await verdicts(known, 2)
      const { seen } = await ask(known)
      const lost = newName()
      t.match(
        await ask(lost, { seen }),
        { verdict: 'refused', minuteUsed: 3, dayUsed: 3 },
        'the larger of both',
      )
      t.match(await ask(lost), { minuteUsed: 3 }, 'and it is kept')
      t.match(await ask(known, { seen: { ...seen, minuteUsed: 1, dayUsed: 1 } }), { minuteUsed: 3 })
      const banned = { ...seen, minuteUsed: 0, dayUsed: 0, bannedUntilMs: start + 5_000 }
      t.match(await ask(newName(), { seen: banned }), {
        verdict: 'banned',
        bannedUntilMs: start + 5_000,
      })
      t.match(
        await ask(newName(), { seen: { ...seen, minute: seen.minute - 1, day: seen.day - 1 } }),
        { minuteUsed: 1, dayUsed: 1 },
        'but not of windows that have ended',
      )
      await store.reset(known)
      t.match(
        await ask(known, { seen }),
        { verdict: 'admitted', minuteUsed: 1 },
        'nor of before a reset',
      )
      await store.ban(known, 'k', start + 9_000)
      const carried = { ...(await ask(known)).seen, bannedUntilMs: start + 9_000 }
      await store.lift(known, 'k')
      t.match(await ask(known, { seen: carried }), { verdict: 'admitted' }, 'nor of before a lift')
    })

    t.test(
      'a generation that is newer elsewhere ends what the store had, bans included',
      async (t) => {
        const quota = newName()
        setTime(start)
        await store.ban(quota, 'k', start + 9_000)
        const { seen } = await ask(quota, { cost: 0 })
        const newer = {
          ...seen,
          generation: seen.generation + 5,
          minuteUsed: 1,
          dayUsed: 1,
          bannedUntilMs: 0,
        }
        t.match(await ask(quota, { seen: newer }), { verdict: 'admitted', minuteUsed: 2 })
        t.equal(await verdicts(quota, 2), 'admitted refused', 'and stays ended')
      },
    )

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

    t.test('nor is what a gateway has seen of one minute counted in another', async (t) => {
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
        t.match(await ask(quota, { seen }), { minuteUsed, dayUsed }, `${afterMs} ms later`)
      }
    })

    t.test('a ban outlasts what sister keys do, however long it is', async (t) => {
      const quota = newName()
      setTime(start)
      const years = start + 3_600 * dayMs
      await store.ban(quota, 'bad', years)
      for (let day = 0; day < 5; day++) {
        setTime(start + day * dayMs)
        t.match(await ask(quota, { key: 'good' }), { verdict: 'admitted' })
      }
      t.match(await ask(quota, { key: 'bad' }), { verdict: 'banned', bannedUntilMs: years })
      store = await reopen()
      t.match(await ask(quota, { key: 'bad' }), { verdict: 'banned', bannedUntilMs: years })
      await store.lift(quota, 'bad')
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

    t.test('is a limiter of rate-limiter-flexible', async (t) => {
      setTime(start)
      const limiter = new QuotaLimiter(store, { keyPrefix: `${newName()}:`, limits, bans: rules })
      t.match(await limiter.consume('a'), {
        remainingPoints: 2,
        consumedPoints: 1,
        msBeforeNext: minuteMs,
      })
      t.equal(await limiter.get('b'), null)
      await limiter.consume('a', 2)
      const refused: unknown = await limiter.consume('a').catch((rejected: unknown) => rejected)
      t.ok(refused instanceof RateLimiterRes)
      t.match(refused, { remainingPoints: 0, msBeforeNext: minuteMs })
      t.match(await limiter.reward('a'), { consumedPoints: 3 })
      await limiter.delete('a')
      t.match(await limiter.set('a', 2), { remainingPoints: 1 })
      t.match(await limiter.block('a', 5), { remainingPoints: 0, msBeforeNext: 5_000 })

      const wrapped = new RLWrapperBlackAndWhite({
        limiter,
        blackList: ['bad'],
        whiteList: ['good'],
      })
      await t.rejects(wrapped.consume('bad'))
      t.ok(await wrapped.consume('good'))
      t.match(await wrapped.consume('c'), { consumedPoints: 1 }, 'in a wrapper')
      const memory = new RateLimiterMemory({ points: 1, duration: 60, keyPrefix: 'memory' })
      const union = new RateLimiterUnion(limiter, memory)
      t.equal(Object.keys(await union.consume('d')).length, 2, 'in a union')
      const storeClient = new Redis(1, {
        lazyConnect: true,
        enableOfflineQueue: false,
        retryStrategy: null,
      })
      storeClient.on('error', () => undefined)
      const insured = new RateLimiterRedis({
        storeClient,
        points: 9,
        duration: 60,
        insuranceLimiter: limiter,
      })
      t.match(await insured.consume('e', 2), { consumedPoints: 2 }, 'as insurance of another')
    })

    t.test('as a limiter it answers as theirs do', async (t) => {
      setTime(start)
      const perMinute = { limits: { perMinute: 5, perDay: Infinity } }
      const ours = new QuotaLimiter(store, { keyPrefix: `${newName()}:`, ...perMinute })
      const theirs = new RateLimiterMemory({ points: 5, duration: 60 })
      const numbers = (result: RateLimiterRes | null) =>
        result && [result.remainingPoints, result.consumedPoints, result.isFirstInDuration]
      for (const [name, act] of Object.entries<(limiter: RateLimiterMemory) => Promise<unknown>>({
        'consume, and again': async (limiter) => [
          numbers(await limiter.consume('a')),
          numbers(await limiter.consume('a', 2)),
          numbers(await limiter.get('a')),
        ],
        'a penalty goes over the limit': async (limiter) => [
          numbers(await limiter.penalty('b', 7)),
          numbers(await limiter.get('b')),
        ],
        'set goes over the limit': async (limiter) => {
          await limiter.consume('c', 5)
          await limiter.set('c', 12, 60)
          return numbers(await limiter.get('c'))
        },
        'a block is seen, and set or delete ends it': async (limiter) => {
          const seen = []
          for (const end of [() => limiter.delete('d'), () => limiter.set('d', 0, 60)]) {
            await limiter.block('d', 0)
            seen.push((await limiter.get('d'))?.remainingPoints)
            seen.push(await limiter.consume('d').then(Boolean, () => 'blocked'))
            await end()
            seen.push((await limiter.consume('d')).remainingPoints)
            await limiter.delete('d')
          }
          return seen
        },
        'delete tells whether something was there': async (limiter) => {
          await limiter.consume('e')
          return [await limiter.delete('e'), await limiter.delete('e'), await limiter.get('e')]
        },
        'a queue knows the most': async (limiter) => {
          const queue = new RateLimiterQueue(limiter)
          return [
            await queue.getTokensRemaining('f'),
            await queue.removeTokens(2, 'f'),
            await queue.getTokensRemaining('f'),
            await queue.removeTokens(6, 'f').catch((error: Error) => error.message),
          ]
        },
      })) {
        const like = ours as unknown as RateLimiterMemory
        t.strictSame(await act(like), await act(theirs), name)
      }
      t.equal(ours.parseKey(ours.getKey('x')), 'x')
      await t.rejects(ours.consume('g', 1, { customDuration: 5 }), /takes no customDuration/)
      const limits = { perMinute: Infinity, perDay: Infinity }
      const free = new QuotaLimiter(store, { keyPrefix: `${newName()}:`, limits })
      t.match(await free.consume('a', 100), { remainingPoints: Number.MAX_SAFE_INTEGER })
      const before = await free.get('a')
      for (const points of [1.5, -1, NaN, Infinity, 2 ** 53]) {
        for (const act of ['consume', 'penalty', 'reward', 'set'] as const) {
          await t.rejects(
            free[act]('a', points),
            new TypeError(`points must be a whole number from 0 up, got ${points}`),
            `${act} ${points}`,
          )
        }
      }
      t.strictSame(await free.get('a'), before, 'and nothing was counted')
    })

    t.test(
      'what a limiter counts is no key’s and no account’s, whatever it is called',
      async (t) => {
        setTime(start)
        const victim = newName()
        const [key, account] = [`key:${victim}`, `account:${victim}`]
        const heard: string[] = []
        const end = store.watch({ banned: ({ key }) => heard.push(key), forgiven: () => undefined })
        t.teardown(end)
        // A watch hears messages from its connection on.
        const first = newName()
        await until(async () => {
          await store.ban(first, first, start + minuteMs)
          return store.isLocal || heard.length > 0
        })
        heard.length = 0
        const limiter = new QuotaLimiter(store, { limits, bans: rules })
        const numbers = `${start / minuteMs},60,${Math.floor(start / dayMs)},1000,0,0`
        const names = [
          key,
          account,
          `mallory\n${key}\t${numbers}\nx`,
          `"${key}"`,
          `${victim} is my name`,
          `x ${victim} y`,
          `1 ${victim}","${key}`,
          `${key};0,-1,-1,;0;;k`,
          `{${key}}`,
          '"\\\r\u2028',
        ]
        for (const name of names) await limiter.consume(name)
        for (const name of names) await limiter.block(name, 60)
        const told = new QuotaLimiter(store, { limits, bans: { ...rules, strikes: 1, graceMs: 0 } })
        const banned = `${victim} is another name`
        for (let i = 0; i < 3; i++) await told.consume(banned)
        await t.rejects(told.consume(banned))
        setTime(start + 1)
        await t.rejects(told.consume(banned))
        t.match(
          (await store.bans()).map((ban) => ban.quota).filter((quota) => quota.includes('another')),
          [`limiter:${banned}`],
        )
        const isUntouched = async (when: string) => {
          for (const quota of [key, account]) {
            const stand = { minuteUsed: 0, dayUsed: 0, bannedUntilMs: 0 }
            t.match(await ask(quota, { key: victim, cost: 0 }), stand, `${quota} ${when}`)
          }
        }
        await isUntouched('at once')
        store = await reopen()
        await isUntouched('after a restart')
        const again = new QuotaLimiter(store, { limits, bans: rules })
        const stands = await Promise.all(names.map((name) => again.get(name)))
        t.strictSame(
          stands.map((stand) => stand?.consumedPoints),
          names.map(() => 4),
          'each is banned',
        )
        if (!store.isLocal) await until(() => heard.length > names.length)
        t.notOk(heard.includes(victim))
      },
    )

    t.test('a restart forgets nothing', async (t) => {
      const [counted, banned] = [newName(), newName()]
      setTime(start)
      await verdicts(counted, 2)
      const bans = { bans: rules, limits: { perMinute: 1, perDay: 1_000 } }
      await verdicts(banned, 2, bans)
      setTime(start + 1_001)
      await verdicts(banned, 2, bans)
      store = await reopen()
      t.match(await ask(counted), { verdict: 'admitted', minuteUsed: 3, dayUsed: 3 })
      t.match(await ask(banned, bans), { verdict: 'banned' }, 'strikes are remembered')
      store = await reopen()
      t.match(await ask(banned, bans), {
        verdict: 'banned',
        bannedUntilMs: start + 1_001 + rules.forMs,
      })
    })

    t.test('does what the model does, whatever happens', async (t) => {
      let runs = 0
      await fc.assert(
        fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 60 }), async (events) => {
          const quota = newName()
          const model = newModel()
          let now = start + ++runs * dayMs * 3
          let known: Decision | undefined
          for (const happens of events) {
            now += happens.afterMs
            setTime(now)
            if (happens.what === 'reopen') store = await reopen()
            else if (happens.what === 'reset')
              await store.reset(quota).then(() => (model.minute = model.day = 0))
            else if (happens.what === 'giveBack') {
              const { day } = known?.seen ?? { day: 0 }
              await store.giveBack(quota, happens.cost, day)
              if (model.dayId === day) model.day = Math.max(0, model.day - happens.cost)
              const points = model.points.get(day) ?? 0
              if (known) model.points.set(day, Math.max(0, points - happens.cost))
            } else if (happens.what === 'lift') {
              await store.lift(quota, 'k')
              Object.assign(model, { until: 0, bans: 0, strikes: [], refused: 0 })
            } else if (happens.what === 'ban') {
              await store.ban(quota, 'k', now + 7_000)
              Object.assign(model, { until: now + 7_000, strikes: [], refused: 0 })
            } else if (happens.what === 'grant') {
              t.equal(await store.grant(quota, { ...happens.points, by: 'a' }), true)
              const [minute, day] = [Math.floor(now / minuteMs), Math.floor(now / dayMs)]
              model.grants.push({ minute, day, ...happens.points })
            } else {
              const { cost, limits } = happens
              const seen = happens.knows && known ? { ...known.seen, bannedUntilMs: 0 } : undefined
              const decision = await ask(quota, { cost, limits, bans: rules, seen })
              same(decision, model, modelStep(model, cost, limits, now))
              if (happens.notes) known = decision
            }
          }
          const today = Math.floor(now / dayMs)
          for (let day = today; day > today - 3; day--) {
            const [found, expected] = [await pointsOf(quota, day), model.points.get(day) ?? 0]
            if (found !== expected) throw new Error(`${found} points are not ${expected}`)
          }
          // Those of the latest day are listed, the oldest first.
          const { day: last } = model.grants.at(-1) ?? {}
          const listed = model.grants.filter(({ day }) => day === last)
          t.match(await store.grants(quota), listed)
          t.equal((await store.grants(quota)).length, listed.length)
        }),
        { numRuns: 60 },
      )
      t.pass(`${runs} stories`)
    })
  })
}

type Model = {
  minuteId: number
  dayId: number
  minute: number
  day: number
  refused: number
  strikes: number[]
  until: number
  bans: number
  /** By day, less what was given back. */
  points: Map<number, number>
  grants: { minute: number; day: number; perMinute: number; perDay: number }[]
}

function newModel(): Model {
  const windows = { minuteId: 0, dayId: 0, minute: 0, day: 0 }
  return { ...windows, refused: 0, strikes: [], until: 0, bans: 0, points: new Map(), grants: [] }
}

/** The points that are granted to this minute and this day. */
function grantedNow({ grants, minuteId, dayId }: Model): { perMinute: number; perDay: number } {
  const sums = { perMinute: 0, perDay: 0 }
  for (const { minute, day, perMinute, perDay } of grants) {
    if (minute === minuteId) sums.perMinute += perMinute
    if (day === dayId) sums.perDay += perDay
  }
  return sums
}

/** The rules of minute, day, grant, strike and ban, as short as they can be written. */
function modelStep(m: Model, cost: number, limits: Limits, now: number): string {
  const [minuteId, dayId] = [Math.floor(now / minuteMs), Math.floor(now / dayMs)]
  if (m.minuteId !== minuteId) Object.assign(m, { minuteId, minute: 0 })
  if (m.dayId !== dayId) Object.assign(m, { dayId, day: 0 })
  if (m.until > now) return 'banned'
  if (cost === 0) return 'admitted'
  const granted = grantedNow(m)
  const perMinute = limits.perMinute + granted.perMinute
  const perDay = limits.perDay + granted.perDay
  if (m.minute + cost <= perMinute && m.day + cost <= perDay) {
    Object.assign(m, { minute: m.minute + cost, day: m.day + cost, refused: 0 })
    m.points.set(dayId, (m.points.get(dayId) ?? 0) + cost)
    return 'admitted'
  }
  m.refused ||= now
  if (now - m.refused <= rules.graceMs) return 'refused'
  m.strikes = [...m.strikes, now].slice(-rules.strikes)
  const recent = m.strikes.filter((at) => now - at < rules.withinMs)
  if (recent.length < rules.strikes) return 'refused'
  m.bans = m.until && now - m.until <= rules.memoryMs ? m.bans + 1 : 0
  m.until = now + Math.min(rules.forMs * rules.factor ** m.bans, rules.atMostMs)
  Object.assign(m, { strikes: [], refused: 0 })
  return 'banned'
}

function same(decision: Decision, model: Model, verdict: string): void {
  const seen = [
    decision.verdict,
    decision.minuteUsed,
    decision.dayUsed,
    decision.bannedUntilMs,
    decision.strikes,
    decision.granted?.perMinute ?? 0,
    decision.granted?.perDay ?? 0,
  ]
  const { perMinute, perDay } = grantedNow(model)
  const until = model.until > decision.nowMs ? model.until : 0
  const { minute, day, strikes } = model
  const expected = [verdict, minute, day, until, strikes.length, perMinute, perDay]
  if (String(seen) !== String(expected)) throw new Error(`${seen.join()} is not ${expected.join()}`)
}

const afterMs = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 1, 400) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(59_999, 60_000, 300_000, 3_600_001, dayMs) },
)
const event = fc.record({
  afterMs,
  what: fc.oneof(
    { weight: 30, arbitrary: fc.constant('ask') },
    { weight: 1, arbitrary: fc.constantFrom('reset', 'lift', 'ban', 'reopen') },
    { weight: 2, arbitrary: fc.constantFrom('grant', 'giveBack') },
  ),
  points: fc.constantFrom(
    { perMinute: 2, perDay: 0 },
    { perMinute: 0, perDay: 3 },
    { perMinute: 1, perDay: 100 },
  ),
  // Whether a gateway asks that has asked before, and whether it is the one that asks next.
  knows: fc.boolean(),
  notes: fc.boolean(),
  cost: fc.oneof(
    { weight: 5, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 }) },
  ),
  limits: fc.constantFrom(
    { perMinute: 2, perDay: 1_000 },
    { perMinute: 2, perDay: 1_000 },
    { perMinute: 5, perDay: 7 },
    { perMinute: Infinity, perDay: 9 },
    { perMinute: 3, perDay: Infinity },
  ),
})
