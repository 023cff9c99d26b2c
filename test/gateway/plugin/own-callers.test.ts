import Fastify from 'fastify'
import t from 'tap'
import type { FindCaller, OwnCaller } from '../../../gateway/index.ts'
import { tollgate, type TollgateOptions } from '../../../gateway/plugin.ts'
import { mine } from '../../support/plugin.ts'
import { signingKey, startKeyServer, tokenOf } from '../../support/jwt.ts'
import { ofToken, plans, startOwnCallers } from '../../support/own-callers.ts'
import { until } from '../../support/until.ts'

t.test('a caller that an app knows is let in, with a record that goes by its id', async (t) => {
  const callers: FindCaller = async (token) => {
    await Promise.resolve()
    if (token !== 'secret') return undefined
    const limits = { perMinute: 7 }
    return { id: 'user-42', plan: 'pro', account: 'acme', name: 'Ada', limits }
  }
  const { ask, asked, operations } = await startOwnCallers(t, { callers })
  const answer = await ask('secret')
  t.match(answer, { statusCode: 200, headers: { 'x-ratelimit-limit': '7' } })
  const { id } = answer.json<{ id: string }>()
  t.match(answer.json(), {
    id: /^\w{12}$/,
    subject: 'user-42',
    name: 'Ada',
    plan: 'pro',
    account: 'acme',
  })
  t.match((await ask('secret', '/v1/quota')).json(), { plan: 'pro', minute: { remaining: 6 } })
  const record = { id, kind: 'app', issuer: 'the app', subject: 'user-42', name: 'Ada' }
  t.match(await operations.keys.show('user-42'), {
    ...{ ...record, plan: 'pro', account: 'acme', limits: { perMinute: 7 } },
    standing: { minute: { limit: 7, used: 1 } },
  })
  t.match(await operations.keys.list({ account: 'acme' }), [record])
  t.match(await operations.quotas.show('Ada'), { minute: { limit: 7, used: 1 } })
  await operations.bans.set('user-42', { for: '1h' })
  t.equal((await ask('secret')).statusCode, 429)
  t.strictSame(asked, ['secret'], 'its answer is remembered')
})

t.test('a handler has the id and the data that the app gave, or the claims of a JWT', async (t) => {
  const key = signingKey('ES256')
  const server = await startKeyServer(t, [key])
  const jwt = { issuer: 'https://login.example/', audience: 'https://api.example', plan: 'free' }
  const data = { secret: 'of Ada', ask: () => 'a function' }
  const { app, ask, asked, operations } = await startOwnCallers(t, {
    callers: (token) => (token === 'ada' ? { id: 'user-42', plan: 'pro', data } : null),
    more: { jwt: [{ ...jwt, keys: server.url }] },
  })
  const seen: { subject: string | undefined; data: unknown }[] = []
  app.get('/seen', mine, ({ tollgate }) => {
    const { subject, data } = tollgate?.caller ?? {}
    seen.push({ subject, data })
    return 'ok'
  })
  for (let i = 0; i < 2; i++) t.equal((await ask('ada', '/seen')).statusCode, 200)
  t.equal(asked.length, 1)
  for (const each of seen) {
    t.equal(each.subject, 'user-42')
    t.equal(each.data, data, 'it is the same as long as it is remembered')
  }
  await operations.keys.change('user-42', { note: 'seen' })
  t.equal((await ask('ada', '/seen')).statusCode, 200)
  t.equal(seen.at(-1)?.data, data, 'a change of its record leaves it as it is')
  t.notMatch(JSON.stringify([await ask('ada'), await operations.keys.show('user-42')]), 'of Ada')
  const token = tokenOf(key, { claims: { sub: 'bob', roles: ['admin'] } })
  t.equal((await ask(token, '/seen')).statusCode, 200)
  const claims = seen.at(-1)?.data as { roles: string[] }
  t.match(seen.at(-1), { subject: 'bob', data: { sub: 'bob', roles: ['admin'] } })
  t.throws(() => claims.roles.push('owner'), TypeError, 'claims are frozen')
  const { key: own } = await operations.keys.create({ name: 'Me', plan: 'free' })
  t.equal((await ask(own, '/seen')).statusCode, 200)
  t.strictSame(seen.at(-1), { subject: undefined, data: undefined })
})

t.test('an answer counts for a minute, or as long as cacheFor says', async (t) => {
  for (const [cacheFor, ms] of [
    [undefined, 60_000],
    ['5s', 5_000],
    ['0s', 0],
  ] as const) {
    let now = Date.now()
    let plan = 'free'
    const { statusOf, ask, asked } = await startOwnCallers(t, {
      ...{ cacheFor, clock: () => now },
      callers: () => ({ id: 'ada', plan }),
    })
    t.equal(await statusOf('one'), 200)
    now += Math.max(0, ms - 1)
    t.equal(await statusOf('one'), 200)
    t.equal(asked.length, ms === 0 ? 2 : 1)
    now += 1
    plan = 'pro'
    t.equal((await ask('one')).json<OwnCaller>().plan, 'pro', `${cacheFor} later`)
    t.equal(asked.length, ms === 0 ? 3 : 2)
  }
  const wrong: readonly [Partial<TollgateOptions>, RegExp][] = [
    [{ cacheFor: '1 minute' }, /"cacheFor" must be a duration such as "30s", got "1 minute"/],
    [{ cacheFor: 5 as unknown as string }, /"cacheFor" must be a duration .* got 5/],
  ]
  for (const [options, message] of wrong) await t.rejects(startOwnCallers(t, options), { message })
  const alone = Fastify().register(tollgate, { config: { plans, routes: [] }, cacheFor: '1m' })
  await t.rejects(async () => alone, { message: /"cacheFor" is for "callers"/ })
  const text = Fastify().register(tollgate, {
    config: { plans, routes: [] },
    callers: 'x' as never,
  })
  await t.rejects(async () => text, { message: /"callers" must be a function, got string/ })
})

t.test('one whom nobody knows gets 401, and is asked about again', async (t) => {
  const known = new Set<string>()
  const { ask, asked, statusOf, operations } = await startOwnCallers(t, {
    callers: (token) => {
      if (known.has(token)) return { id: token, plan: 'free' }
      return token === 'null' ? null : undefined
    },
  })
  t.equal((await ask('null')).json().code, 'invalid_api_key', 'as libraries of tables say it')
  const answer = await ask('late')
  t.match(answer, { statusCode: 401, headers: { 'www-authenticate': /invalid_token/ } })
  t.match(answer.json(), { code: 'invalid_api_key', message: 'The API key is not valid.' })
  const id = String(answer.headers['x-request-id'])
  t.match(await operations.explain(id), { answers: [{ sentence: 'No key has this token.' }] })
  known.add('late')
  t.equal(await statusOf('late'), 200)
  t.strictSame(asked, ['null', 'late', 'late'])
})

t.test(
  'an address over the limit for strangers has nothing asked, but for known tokens',
  async (t) => {
    let now = Date.now()
    const { statusOf, asked } = await startOwnCallers(t, {
      clock: () => now,
      more: { strangers: { perMinute: 3, perDay: 1000 } },
    })
    t.equal(await statusOf('of-ada'), 200)
    for (const guess of ['a', 'b', 'c']) t.equal(await statusOf(guess), 401)
    t.equal(await statusOf('d'), 429)
    t.equal(await statusOf('of-new'), 429)
    t.strictSame(asked, ['of-ada', 'a', 'b', 'c'])
    t.equal(await statusOf('of-ada'), 200)
    now += 60_000
    for (const guess of ['a', 'b', 'c']) await statusOf(guess)
    t.equal(await statusOf('of-ada'), 200, 'one that was let in before is asked about again')
    t.equal(asked.at(-1), 'of-ada')
  },
)

t.test(
  'a throw, no such object, or a plan that isn’t offered is 503 and a line in the log',
  async (t) => {
    const answers: Readonly<Record<string, readonly [() => unknown, RegExp]>> = {
      thrown: [() => Promise.reject(new Error('no database')), /no database/],
      atOnce: [
        () => {
          throw new Error('at once')
        },
        /at once/,
      ],
      text: [() => 'ada', /must give undefined or null, or .* It gave string/],
      noPlan: [() => ({ id: 'ada' }), /It gave { id: string }/],
      number: [() => ({ id: 42, plan: 'free' }), /It gave { id: number, plan: string }/],
      long: [() => ({ id: 'x'.repeat(256), plan: 'free' }), /an id has 1 to 255 characters/],
      account: [() => ({ id: 'ada', plan: 'free', account: 'a\nb' }), /the account must be a line/],
      typo: [() => ({ id: 'ada', plan: 'free', limits: { perMinut: 1 } }), /limits: { perMinut }/],
      limit: [() => ({ id: 'ada', plan: 'free', limits: { perMinute: 0 } }), /above 0 or/],
      plan: [() => ({ id: 'ada', plan: 'gold' }), /"id":"ada".*no plan \\"gold\\"; there are free/],
      ofAll: [() => ({ id: 'ada', plan: 'constructor' }), /no plan \\"constructor\\"/],
    }
    const { ask, log, operations, statusOf } = await startOwnCallers(t, {
      callers: (token) => answers[token]?.[0]() as OwnCaller,
      more: { strangers: { perMinute: 3, perDay: 1000 } },
    })
    for (const [token, [, line]] of Object.entries(answers)) {
      log.length = 0
      const answer = await ask(token)
      const headers = { 'retry-after': '5', 'x-ratelimit-remaining': '3' }
      t.match(answer, { statusCode: 503, headers }, `${token}: it counts against nobody`)
      t.match(answer.json(), { code: 'service_unavailable' })
      t.match(log.join(''), line, token)
      t.match(log.join(''), /"level":50.*\\"callers\\" has failed/)
      const id = String(answer.headers['x-request-id'])
      t.match(await operations.explain(id), { answers: [{ sentence: /The app’s own function/ }] })
    }
    t.equal(await statusOf('unknown'), 401)
    t.strictSame(await operations.keys.list(), [], 'no record is made')
  },
)

t.test('a custom plan is 503 until an operator gives the caller limits', async (t) => {
  const { statusOf, log, operations } = await startOwnCallers(t, {
    callers: () => ({ id: 'ada', plan: 'custom' }),
  })
  t.equal(await statusOf('one'), 503)
  t.match(log.join(''), /the plan of a key is not in the configuration/)
  await operations.keys.change('ada', { limits: { perMinute: 5, perDay: 50 } })
  await until(async () => (await statusOf('one')) === 200)
})

t.test('a plan that a reload takes away is 503', async (t) => {
  const { statusOf, operations, config } = await startOwnCallers(t, { cacheFor: '0s' })
  t.equal(await statusOf('of-ada'), 200)
  await operations.reload({ ...config, plans: { pro: { perMinute: 9, perDay: 99 } } })
  t.equal(await statusOf('of-ada'), 503)
  await operations.reload(config)
  t.equal(await statusOf('of-ada'), 200)
})

t.test('a slow answer holds up its own requests alone, which share it', async (t) => {
  let answer: (caller: OwnCaller) => void = () => undefined
  const { statusOf, asked } = await startOwnCallers(t, {
    cacheFor: '0s',
    callers: (token) =>
      token === 'slow' ? new Promise<OwnCaller>((resolve) => (answer = resolve)) : ofToken(token),
  })
  const slow = [1, 2, 3].map(() => statusOf('slow'))
  await until(() => asked.length === 1)
  t.equal(await statusOf('of-ada'), 200)
  t.equal(await statusOf('unknown'), 401)
  answer({ id: 'slow', plan: 'free' })
  t.strictSame(await Promise.all(slow), [200, 200, 200])
  t.strictSame(asked, ['slow', 'of-ada', 'unknown'])
})

t.test('known keys go before it, and it goes before JWTs', async (t) => {
  const key = signingKey('ES256')
  const server = await startKeyServer(t, [key])
  const jwt = { issuer: 'https://login.example/', audience: 'https://api.example', plan: 'free' }
  const claimed = tokenOf(key, { claims: { sub: 'claimed' } })
  const { ask, asked, operations, statusOf } = await startOwnCallers(t, {
    callers: (token) => (token === claimed ? { id: 'of the app', plan: 'pro' } : ofToken(token)),
    more: { jwt: [{ ...jwt, keys: server.url }] },
  })
  const { key: token } = await operations.keys.create({ name: 'Me', plan: 'free' })
  t.match((await ask(token)).json(), { name: 'Me' })
  t.equal(await statusOf('tg_mistyped'), 401)
  t.strictSame(asked, [])
  t.match((await ask(claimed)).json(), { name: 'of the app', plan: 'pro' })
  const other = tokenOf(key, { claims: { sub: 'bob' } })
  t.match((await ask(other)).json(), { name: 'bob', plan: 'free' })
  t.equal(await statusOf(`${other}x`), 401)
  t.strictSame(asked, [claimed, other, `${other}x`])
})

t.test('a token has up to 8,192 characters', async (t) => {
  const { statusOf, asked } = await startOwnCallers(t)
  const longest = `of-ada.${'x'.repeat(8_185)}`
  t.equal(await statusOf(longest), 200)
  t.equal(await statusOf(longest), 200)
  t.equal(await statusOf(`${longest}x`), 401)
  t.strictSame(asked, [longest])
})
