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
import { QuotaLimiter } from '../../gateway/front/limits/limiter.ts'
import { dayMs, hourMs, minuteMs } from '../../shared/windows.ts'
import { until } from '../support/until.ts'
import {
  limits,
  rules,
  start,
  TriedStore,
  type MovableQuotas,
} from '../../gateway/contracts/tried-quotas.ts'

/** The part of the contract of `QuotaStore` about limiters on it, as apps use them. */
export function limiterContract(t: Test, open: () => Promise<MovableQuotas>): void {
  const tried = new TriedStore()
  const { setTime, newName, ask } = tried
  const test = (name: string, run: (t: Test) => Promise<void>): void =>
    void t.test(name, (t) => tried.during(open, () => run(t)))
  test('is a limiter of rate-limiter-flexible', async (t) => {
    setTime(start)
    const limiter = new QuotaLimiter(tried.store, {
      keyPrefix: `${newName()}:`,
      limits,
      bans: rules,
    })
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

  test('as a limiter it answers as theirs do', async (t) => {
    setTime(start)
    const perMinute = { limits: { perMinute: 5, perDay: Infinity } }
    const ours = new QuotaLimiter(tried.store, { keyPrefix: `${newName()}:`, ...perMinute })
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
    const free = new QuotaLimiter(tried.store, { keyPrefix: `${newName()}:`, limits })
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

  test('a limiter takes each window up to a day', async (t) => {
    const unlimited = { perMinute: Infinity, perDay: Infinity }
    setTime(start)
    for (const [name, lengthMs] of [
      ['perSecond', 1_000],
      ['perMinute', minuteMs],
      ['perHour', hourMs],
      ['perDay', dayMs],
    ] as const) {
      const limiter = new QuotaLimiter(tried.store, {
        keyPrefix: `${newName()}:`,
        limits: { ...unlimited, [name]: 2 },
      })
      t.match(limiter, { points: 2, duration: lengthMs / 1_000 }, name)
      await limiter.consume('a', 2)
      const refused: unknown = await limiter.consume('a').catch((rejected: unknown) => rejected)
      t.match(refused, { remainingPoints: 0, msBeforeNext: lengthMs - (start % lengthMs) }, name)
      const rewarded = await limiter.reward('a')
      const isLong = lengthMs > minuteMs
      t.equal(rewarded.remainingPoints, isLong ? 1 : 0, `${name}: a reward is for long windows`)
      await limiter.delete('a')
      t.match(await limiter.set('a', 2), { remainingPoints: 0 }, name)
      await t.rejects(limiter.consume('a'), name)
    }
    t.throws(
      () => new QuotaLimiter(tried.store, { limits: { ...unlimited, perMonth: 9 } }),
      new TypeError('QuotaLimiter keeps its counts for a day: it takes no perMonth'),
    )
  })

  test('what a limiter counts is no key’s and no account’s, whatever it is called', async (t) => {
    setTime(start)
    const victim = newName()
    const [key, account] = [`key:${victim}`, `account:${victim}`]
    const heard: string[] = []
    const end = tried.store.watch({
      banned: ({ key }) => heard.push(key),
      forgiven: () => undefined,
    })
    t.teardown(end)
    // A watch hears messages from its connection on.
    const first = newName()
    await until(async () => {
      await tried.store.ban(first, first, start + minuteMs)
      return tried.store.isLocal || heard.length > 0
    })
    heard.length = 0
    const limiter = new QuotaLimiter(tried.store, { limits, bans: rules })
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
    const told = new QuotaLimiter(tried.store, {
      limits,
      bans: { ...rules, strikes: 1, graceMs: 0 },
    })
    const banned = `${victim} is another name`
    for (let i = 0; i < 3; i++) await told.consume(banned)
    await t.rejects(told.consume(banned))
    setTime(start + 1)
    await t.rejects(told.consume(banned))
    t.match(
      (await tried.store.bans())
        .map((ban) => ban.quota)
        .filter((quota) => quota.includes('another')),
      [`limiter:${banned}`],
    )
    const isUntouched = async (when: string) => {
      for (const quota of [key, account]) {
        const stand = { minuteUsed: 0, dayUsed: 0, bannedUntilMs: 0 }
        t.match(await ask(quota, { key: victim, cost: 0 }), stand, `${quota} ${when}`)
      }
    }
    await isUntouched('at once')
    await tried.reopen()
    await isUntouched('after a restart')
    const again = new QuotaLimiter(tried.store, { limits, bans: rules })
    const stands = await Promise.all(names.map((name) => again.get(name)))
    t.strictSame(
      stands.map((stand) => stand?.consumedPoints),
      names.map(() => 4),
      'each is banned',
    )
    if (!tried.store.isLocal) await until(() => heard.length > names.length)
    t.notOk(heard.includes(victim))
  })
}
