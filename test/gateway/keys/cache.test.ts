import { inspect } from 'node:util'
import t from 'tap'
import { CallerCache } from '../../../gateway/front/keys/cache.ts'
import { stateOf } from '../../../gateway/front/keys/caller.ts'
import { hashOf } from '../../../gateway/front/keys/token.ts'
import { effectiveLimits } from '../../../gateway/front/limits/plan.ts'
import { ConfiguredPlans } from '../../../gateway/front/keys/terms.ts'
import { newKey } from '../../contracts/keys.ts'
import { plans } from '../../support/two-plans.ts'

const rules = {
  ...{ strikes: 3, withinMs: 60_000, graceMs: 0, forMs: 1_000, factor: 2, atMostMs: 60_000 },
  memoryMs: 60_000,
}

t.test('the cache', (t) => {
  const stored = (version: number, id: string, more = {}) => ({
    key: newKey({ id, secrets: [{ hash: hashOf('token') }, { hash: hashOf('other') }], ...more }),
    version,
  })
  t.test('never holds more than its size, and keeps what is used', (t) => {
    const cache = new CallerCache(100)
    cache.add('used', stored(1, 'used'))
    for (let i = 0; i < 10_000; i++) {
      cache.add(`t${i}`, stored(1, `k${i}`))
      if (i % 20 === 0 && !cache.get('used')) t.fail(`gone after ${i}`)
      if (cache.size > 100) t.fail(`${cache.size} are held`)
    }
    t.ok(cache.get('used'))
    t.notOk(cache.get('t5'))
    t.end()
  })
  t.test('loses none as long as all fit, in whatever order they come', (t) => {
    const cache = new CallerCache(100)
    let lookUps = 0
    for (let i = 0; i < 1_000; i++) {
      if (cache.get(`t${i % 100}`)) continue
      lookUps++
      cache.add(`t${i % 100}`, stored(1, `k${i % 100}`))
    }
    t.equal(lookUps, 100)
    t.end()
  })
  t.test('takes a change to heart, and no older one after it', (t) => {
    const cache = new CallerCache(100)
    const caller = cache.add('token', stored(5, 'k'))
    t.ok(caller.isValidAt(Number.MAX_VALUE))
    cache.update(stored(7, 'k', { revokedAtMs: 1 }))
    t.equal(cache.get('token')?.isValidAt(0), false)
    cache.update(stored(6, 'k'))
    t.equal(cache.get('token')?.isValidAt(0), false, 'a change that was overtaken')
    t.equal(cache.add('token', stored(5, 'k')).isValidAt(0), false, 'a look-up that was overtaken')
    t.end()
  })
  t.test('has the latest thousand tokens of an outsider, and of a change all of them hear', (t) => {
    const cache = new CallerCache(5_000)
    const by = { isTrusted: true }
    const said = { kind: 'jwt', issuer: 'i', subject: 's', name: 'n', plan: 'free', by }
    const outsider = { ...said, account: undefined, untilMs: Infinity }
    const add = (i: number, version: number) => cache.add(`t${i}`, stored(version, 'k'), outsider)
    const has = (...tokens: number[]) => tokens.map((i) => cache.get(`t${i}`) !== undefined)
    for (let i = 0; i <= 1_000; i++) add(i, 1)
    t.equal(cache.size, 1_000)
    t.strictSame(has(0, 1, 1_000), [false, true, true])
    cache.update(stored(2, 'k', { disabled: true }))
    for (const i of [1, 500, 1_000]) t.equal(cache.get(`t${i}`)?.isValidAt(0), false)
    add(1_001, 2)
    t.strictSame(has(1, 2, 1_000, 1_001), [false, true, true, true], 'the oldest goes')
    cache.add('token', stored(1, 'other'))
    t.ok(cache.get('token'))
    t.end()
  })
  t.test('knows all tokens of a key, and which of them are gone', (t) => {
    const cache = new CallerCache(3)
    for (const token of ['token', 'other']) cache.add(token, stored(1, 'k'))
    cache.update(stored(2, 'k', { disabled: true }))
    t.equal(cache.get('token')?.isValidAt(0), false)
    t.equal(cache.get('other')?.isValidAt(0), false)
    for (const gone of ['token', 'other']) {
      const left = gone === 'token' ? 'other' : 'token'
      const some = new CallerCache(3)
      some.add('first', stored(1, 'first'))
      for (const token of ['token', 'other']) some.add(token, stored(1, 'k'))
      some.add('third', stored(1, 'third'))
      t.notOk(some.get('first'), 'the oldest has made room')
      t.ok(some.get(left))
      some.add('fourth', stored(1, 'fourth'))
      t.notOk(some.get(gone), `${gone} has made room`)
      some.update(stored(2, 'k', { revokedAtMs: 1 }))
      t.equal(some.get(left)?.isValidAt(0), false, 'the other one still hears of changes')
      for (let i = 0; i < 9; i++) {
        some.add(`more${i}`, stored(1, `more${i}`))
        t.equal(some.size, 3)
      }
      some.update(stored(3, 'k'))
      t.notOk(some.get(left), 'it is gone too')
    }
    t.end()
  })
  t.test('leaves to requests on their way what their caller had', (t) => {
    const cache = new CallerCache(100)
    const caller = cache.add('a-secret', stored(1, 'k', { account: 'acme', plan: 'free' }))
    const terms = new ConfiguredPlans({ plans, bans: rules, nearPercents: [] }).termsFor(caller)
    t.match(terms, { limits: { perMinute: 60 }, bans: rules })
    t.equal(
      new ConfiguredPlans({ plans: new Map(), bans: rules, nearPercents: [] }).termsFor(caller),
      undefined,
      'its plan has gone',
    )
    const own = { plan: 'free', limits: { perMinute: 3 }, methods: ['GET'] }
    const apart = cache.add('other', stored(1, 'apart', own))
    const configured = new ConfiguredPlans({ plans, bans: rules, nearPercents: [] })
    const ownTerms = configured.termsFor(apart)
    t.match(ownTerms, { limits: { perMinute: 3 } }, 'settings of its own')
    t.equal(configured.termsFor(apart), ownTerms, 'are made once')
    t.equal(
      ownTerms?.forbids?.('POST', '/v1/pets', () => '', undefined),
      'method',
    )
    t.throws(
      () => Object.assign(caller, { plan: 'enterprise' }),
      TypeError,
      'a caller is for reading',
    )
    t.strictSame(Reflect.ownKeys(caller.constructor), ['length', 'name', 'prototype'])
    cache.update(stored(2, 'k', { plan: 'free' }))
    t.match(caller, { quota: 'account:acme', account: 'acme' }, 'its key is of no account now')
    t.match(cache.get('a-secret'), { quota: 'key:k', account: undefined })
    t.notMatch(inspect(caller) + JSON.stringify(caller), 'a-secret', 'its token is not printed')
    t.end()
  })
  t.test('comes to those that fell silent, however many were busy', (t) => {
    const cache = new CallerCache(1_000)
    const look = (token: string): number => {
      if (cache.get(token)) return 0
      cache.add(token, stored(1, token))
      return 1
    }
    for (let i = 0; i < 5_000; i++) look(`silent${i % 995}`)
    let lookUps = 0
    for (let i = 0; i < 10_000; i++) lookUps += look(`new${i % 20}`)
    t.ok(lookUps < 100, `${lookUps} look-ups of 20 keys`)
    t.end()
  })
  t.test('holds no more of a token than the token', (t) => {
    const cache = new CallerCache(3)
    const header = `Bearer ${'t'.repeat(50)}`
    const token = header.slice(7)
    const caller = cache.add(token, stored(1, 'k'))
    t.equal(stateOf(caller).token, token)
    t.ok(cache.get(token))
    t.end()
  })
  t.end()
})

t.test('limits of a key are its own, else its plan’s', (t) => {
  const [free, enterprise] = [...plans.values()]
  if (!free || !enterprise) throw new Error('two plans')
  const none = {
    ...{ perSecond: Infinity, perHour: Infinity, perWeek: Infinity, perMonth: Infinity },
    ...{ atOnce: undefined, lingerMs: undefined },
  }
  t.strictSame(effectiveLimits(free), { perMinute: 60, perDay: 1_000 })
  const own = { ...none, perMinute: 5, perDay: 1_000 }
  t.strictSame(effectiveLimits(free, { perMinute: 5 }), own)
  t.strictSame(effectiveLimits(free, { perHour: 7 }), { ...own, perMinute: 60, perHour: 7 })
  const unlimited = { ...none, perMinute: 60, perDay: Infinity }
  t.strictSame(effectiveLimits(free, { perDay: 'unlimited' }), unlimited)
  t.equal(effectiveLimits(enterprise, { perMinute: 5 }), undefined)
  const both = { perMinute: 5, perDay: 6 }
  t.strictSame(effectiveLimits(enterprise, both), { ...none, ...both })
  const few = { ...free, limits: { ...both, atOnce: 3, lingerMs: 500 } }
  t.match(effectiveLimits(few, { perMinute: 5 }), { atOnce: 3, lingerMs: 500 })
  t.match(effectiveLimits(few, { atOnce: 7 }), { ...both, atOnce: 7, lingerMs: 500 })
  t.match(effectiveLimits(few, { atOnce: 'unlimited' }), { atOnce: undefined })
  t.end()
})
