import t, { type Test } from 'tap'
import { outsideId } from '../../../gateway/front/keys/outside-callers.ts'
import { desksFor } from '../../../gateway/office/operations/desks.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { startGateway, type GatewayOptions } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import {
  audience,
  bearer,
  issuerName,
  jwtSection,
  signingKey,
  startKeyServer,
  tokenOf,
} from '../../support/jwt.ts'
import { logged, said } from '../../support/logs.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const key = signingKey('ES256')
const idOf = (subject: string): string => outsideId({ kind: 'jwt', issuer: issuerName, subject })
const token = (sub: string, claims = {}): { authorization: string } =>
  bearer(tokenOf(key, { claims: { sub, ...claims } }))

type Standing = { minute: { remaining: number } }

/** The account of a tenant. */
const of = (tenant: string): string => `${issuerName}#${tenant}`

const byClaims = `plan: { claim: plan, is: { gold: pro, basic: free }, else: free }, account: tenant, name: email`

async function start(t: Test, more = byClaims, options: Partial<GatewayOptions> = {}) {
  const server = await startKeyServer(t, [key])
  const section = jwtSection(server.url, more.replaceAll('KEYS', server.url))
  const gateway = await startGateway(t, { ...options, more: section })
  const statusOf = async (headers: { authorization: string }): Promise<number> =>
    (await gateway.call('GET', '/v1/x', undefined, headers)).status
  return { ...gateway, server, statusOf }
}

const stores = { 'a file': undefined, Redis: (await startRedis(t)).url }
for (const [where, url] of Object.entries(stores)) {
  t.test(`a caller has one record in ${where}, of whatever token it comes with`, async (t) => {
    const store = url === undefined ? {} : { store: `redis: "${url}"` }
    const { statusOf, desk, upstream } = await start(t, byClaims, store)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, jti) => statusOf(token('alice', { jti, email: 'Alice' }))),
    )
    t.strictSame(new Set(answers), new Set([200]))
    t.equal(await statusOf(token('bob', { plan: 'gold', tenant: 'acme' })), 200)
    t.match(await desk.show(idOf('alice')), {
      name: 'Alice',
      plan: 'free',
      ...{ kind: 'jwt', issuer: issuerName, subject: 'alice', secrets: [] },
    })
    t.match(await desk.show(idOf('bob')), { name: 'bob', plan: 'pro', account: of('acme') })
    const { keys } = await desk.page({ filter: { search: 'alice' }, limit: 10 })
    t.equal(keys.length, 1)
    t.strictSame(
      new Set(upstream.seen.map(({ headers }) => headers['x-caller-id'])),
      new Set([idOf('alice'), idOf('bob')]),
    )
  })
}

t.test(
  'plan and account follow the claims at each request, and the record follows them',
  async (t) => {
    const { call, desk } = await start(t)
    const standing = async (headers: { authorization: string }) =>
      json(await call('GET', '/v1/quota', undefined, headers))
    const basic = token('alice')
    const gold = token('alice', { plan: 'gold', tenant: 'acme' })
    t.match(await standing(basic), { plan: 'free', minute: { limit: 60 } })
    t.match(await standing(gold), { plan: 'pro', minute: { limit: 300 } })
    await until(async () => (await desk.show(idOf('alice'))).plan === 'pro')
    t.equal((await desk.show(idOf('alice'))).account, of('acme'))
    t.match(await standing(basic), { plan: 'free' }, 'the other token still says so')
    await call('GET', '/v1/x', undefined, gold)
    t.match(await standing(gold), { minute: { remaining: 299 } })
    t.match(await standing(token('bob', { plan: 'gold', tenant: 'acme' })), {
      minute: { remaining: 299 },
    })
    t.match(
      await standing(basic),
      { minute: { remaining: 60 } },
      'one without the account has its own',
    )
  },
)

t.test('what an operator has set stays; what the issuer says can’t be changed here', async (t) => {
  const { statusOf, call, desk } = await start(t)
  t.equal(await statusOf(token('alice')), 200)
  const id = idOf('alice')
  await desk.edit(id, desk.changing({ limits: { perMinute: 7 }, methods: ['GET'], note: 'mine' }))
  await until(async () => {
    const answer = await call('GET', '/v1/quota', undefined, token('alice'))
    return (json(answer) as { minute: { limit: number } }).minute.limit === 7
  })
  t.equal((await call('POST', '/v1/x', {}, token('alice'))).status, 403)
  t.equal(await statusOf(token('alice', { plan: 'gold' })), 200)
  await until(async () => (await desk.show(id)).plan === 'pro')
  t.match(await desk.show(id), { limits: { perMinute: 7 }, methods: ['GET'], note: 'mine' })
  const edits: (() => Promise<unknown>)[] = [
    () => desk.edit(id, desk.changing({ plan: 'free' })),
    () => desk.edit(id, desk.changing({ account: 'mine' })),
    () => desk.rotate(id, 0),
  ]
  for (const edit of edits) {
    await t.rejects(edit, { message: /comes with its tokens, from https:/ })
  }
})

t.test(
  'a record that was disabled stays disabled, for new tokens too; enabled, it goes on',
  async (t) => {
    const { statusOf, desk, server } = await start(t)
    const known = token('alice')
    t.equal(await statusOf(known), 200)
    await desk.edit(idOf('alice'), desk.disabling(true))
    await until(async () => (await statusOf(known)) === 401)
    t.equal(await statusOf(token('alice', { jti: 2, plan: 'gold' })), 401)
    t.equal(await statusOf(token('bob')), 200)
    await desk.edit(idOf('alice'), desk.disabling(false))
    await until(async () => (await statusOf(known)) === 200)
    await desk.edit(idOf('alice'), desk.revoking())
    await until(async () => (await statusOf(known)) === 401)
    t.equal(await statusOf(token('alice', { jti: 3 })), 401)
    t.equal(server.asked(), 1)
  },
)

t.test('a ban holds for tokens of other accounts, from their first request on', async (t) => {
  const { statusOf, app, desk, config } = await start(t)
  const from = (tenant: string) => token('alice', { tenant })
  const [one, other] = [from('one'), from('other')]
  t.equal(await statusOf(one), 200)
  const quotas = app.front.stores.quota
  await quotas.ban(`account:${of('one')}`, idOf('alice'), Date.now() + 60_000)
  t.strictSame([await statusOf(other), await statusOf(other)], [429, 429])
  await until(async () => (await desk.show(idOf('alice'))).account === of('other'))
  t.equal(await statusOf(one), 429, 'it stays where it was')
  t.equal(await statusOf(from('third')), 429)
  t.equal(await statusOf(token('bob', { tenant: 'other' })), 200)

  const { stores } = app.front
  const operators = desksFor({ ...config, stores, clock: Date.now, by: 'ada' }).quotas
  t.match(await operators.bans(), [{ key: idOf('alice') }], 'it is listed once')
  await operators.lift(idOf('alice'))
  t.strictSame(await quotas.bans(), [])
  for (const tenant of ['one', 'other', 'third']) t.equal(await statusOf(from(tenant)), 200)
})

t.test(
  'a ban holds for an account that came while the store was away, as soon as it is back',
  async (t) => {
    const time = { ms: Date.now() }
    const { statusOf, app, desk } = await start(t, byClaims, { clock: () => time.ms })
    const other = token('alice', { tenant: 'other' })
    t.equal(await statusOf(token('alice', { tenant: 'one' })), 200)
    const { quota } = app.front.stores
    await quota.ban(`account:${of('one')}`, idOf('alice'), time.ms + 60_000)
    const decide = quota.decide.bind(quota)
    quota.decide = () => {
      throw new Error('away')
    }
    t.strictSame([await statusOf(other), await statusOf(other)], [200, 200])
    t.equal((await desk.show(idOf('alice'))).account, of('one'), 'where the ban is')
    quota.decide = decide
    time.ms += 1_000
    t.equal(await statusOf(other), 429)
  },
)

for (const [where, url] of Object.entries(stores)) {
  t.test(`an operator’s ban in ${where} holds for tokens that came before it`, async (t) => {
    const store = url === undefined ? {} : { store: `redis: "${url}", prefix: "banned:"` }
    const { statusOf, app, config } = await start(t, byClaims, store)
    const [one, other] = [token('carol', { tenant: 'one' }), token('carol', { tenant: 'other' })]
    t.strictSame([await statusOf(one), await statusOf(other)], [200, 200])
    const { stores } = app.front
    const operators = desksFor({ ...config, stores, clock: Date.now, by: 'ada' }).quotas
    await operators.ban(idOf('carol'), 60_000)
    await until(async () => (await stores.quota.bans()).length === 2)
    // What a gateway with Redis knows of bans ends with any lift.
    await stores.quota.reset('key:another')
    t.strictSame([await statusOf(one), await statusOf(other)], [429, 429])
    const { untilMs } = await operators.ban(idOf('carol'), 5_000)
    const ends = new Set((await stores.quota.bans()).map((ban) => ban.untilMs))
    t.strictSame(ends, new Set([untilMs]), 'a shorter one as well')
    await operators.lift(idOf('carol'))
    await until(async () => (await statusOf(one)) === 200 && (await statusOf(other)) === 200)
    t.strictSame(await stores.quota.bans(), [])
  })
}

t.test('an earned ban holds for tokens of other accounts that came before it', async (t) => {
  const section = `${byClaims} } ]\nbans: { strikes: 1, grace: 0s }\n#`
  const { statusOf, call } = await start(t, section)
  const [one, other] = [token('alice', { tenant: 'one' }), token('alice', { tenant: 'other' })]
  t.strictSame([await statusOf(other), await statusOf(one)], [200, 200])
  await until(async () => (await call('GET', '/v1/x', undefined, one)).text.includes('key_banned'))
  t.match(await call('GET', '/v1/x', undefined, other), { status: 429, text: /key_banned/ })
})

t.test('an id that is another’s is refused, and stays another’s', async (t) => {
  const { log, output } = logged()
  const { statusOf, stores, desk } = await start(t, byClaims, { log })
  const own = { plan: 'pro', createdAtMs: 1, secrets: [] }
  const other = { kind: 'jwt', issuer: 'https://other.example', subject: 'bob' }
  await stores.keys.add([
    { ...own, id: idOf('alice'), name: 'a key of the house' },
    { ...own, ...other, id: idOf('bob'), name: 'of another pair' },
  ])
  for (const subject of ['alice', 'bob']) t.equal(await statusOf(token(subject)), 401)
  await until(() => said(output(), '"reason":"jwt_claim"').length === 2)
  t.match(await desk.show(idOf('alice')), { plan: 'pro', name: 'a key of the house' })
})

t.test('beyond maxCallers new ones get 503, and known ones go on', async (t) => {
  const { log, output } = logged()
  const { statusOf, call, desk } = await start(t, 'plan: free, maxCallers: 2', { log })
  const subjects = ['one', 'two', 'three', 'four', 'five']
  const statuses = await Promise.all(subjects.map((subject) => statusOf(token(subject))))
  t.strictSame(statuses.toSorted(), [200, 200, 503, 503, 503], 'those that come at once count')
  const known = subjects[statuses.indexOf(200)] ?? ''
  const answer = await call('GET', '/v1/x', undefined, token('six'))
  t.match(answer, { status: 503, headers: { 'retry-after': '5' } })
  t.equal(await statusOf(token(known, { jti: 2 })), 200)
  await until(() => said(output(), 'as many callers as maxCallers').length === 1)
  await until(() => said(output(), '"reason":"jwt_callers"').length === 4)
  await t.rejects(desk.show(idOf('six')), { code: 'not_found' })
})

t.test('beyond 100 accounts in a day new ones get 503, and known ones go on', async (t) => {
  const time = { ms: Date.now() }
  const { log, output } = logged()
  const { statusOf, call } = await start(t, byClaims, { log, clock: () => time.ms })
  const from = (tenant: number, sub = 'alice') =>
    token(sub, { tenant: `t${tenant}`, exp: Math.floor(time.ms / 1_000) + 3_600 })
  const first = from(1)
  for (let tenant = 1; tenant <= 100; tenant++) t.equal(await statusOf(from(tenant)), 200)
  const answer = await call('GET', '/v1/x', undefined, from(101))
  t.match(answer, { status: 503, headers: { 'retry-after': '5' } })
  t.equal(await statusOf(first), 200)
  t.equal(await statusOf(token('alice')), 200, 'one without an account has its own quota')
  t.equal(await statusOf(from(101, 'bob')), 200)
  await until(() => said(output(), 'as many accounts').length === 1)
  t.match(said(output(), 'as many accounts'), [{ issuer: issuerName, key: idOf('alice') }])
  time.ms += 86_400_000 - 1
  t.strictSame([await statusOf(from(100)), await statusOf(from(101))], [200, 503])
  time.ms++
  t.strictSame([await statusOf(from(100)), await statusOf(from(101))], [200, 200])
})

t.test('an account is its issuer’s own: neither keys nor other issuers share it', async (t) => {
  const entry = (issuer: string, prefix: string): string =>
    `{ issuer: ${issuer}, audience: "${audience}", keys: "KEYS", plan: free, account: { claim: tenant, prefix: "${prefix}" } }`
  const now = Date.now()
  const extensions = `[ { account: "${of('acme')}", until: 2099-01-01 } ]`
  const { call, key, statusOf } = await start(
    t,
    `${byClaims} }, ${entry('named', 'kc:')}, ${entry('sharing', '')} ]
deprecations: [ { operation: GET /v1/old, since: 2020-01-01, sunset: 2020-01-02, extensions: ${extensions} } ]
#`,
    { clock: () => now },
  )
  const ofKey = async (account: string) => (await key({ account })).headers
  const own = token('alice', { tenant: 'acme' })
  const left = async (headers: { authorization: string }): Promise<number> => {
    t.equal(await statusOf(headers), 200)
    const { minute } = json(await call('GET', '/v1/quota', undefined, headers)) as Standing
    return minute.remaining
  }
  t.equal(await left(own), 59)
  t.equal(await left(await ofKey('acme')), 59)
  t.equal(await left(token('bob', { iss: 'named', tenant: 'acme' })), 59)
  t.equal(await left(await ofKey('kc:acme')), 58, 'by its whole name it is the same')
  t.equal(await left(await ofKey(of('acme'))), 58)
  t.equal(await left(token('bob', { iss: 'sharing', tenant: 'acme' })), 58, 'it shares on purpose')
  const old = async (headers: { authorization: string }) =>
    (await call('GET', '/v1/old', undefined, headers)).status
  t.strictSame([await old(own), await old(await ofKey('acme'))], [200, 410])
})

t.test('a claim that no plan fits, or that is no account, is refused', async (t) => {
  const strict = 'plan: { claim: plan, is: { gold: pro } }, account: tenant'
  const { statusOf } = await start(t, strict)
  t.equal(await statusOf(token('alice', { plan: 'gold' })), 200)
  const wrong = [{}, { plan: 'silver' }, { plan: 7 }, { plan: 'constructor' }]
  const longest = 'x'.repeat(255 - of('').length)
  t.equal(await statusOf(token('alice', { plan: 'gold', tenant: longest })), 200)
  const tenants = [7, '', 'a\nb', ['acme'], `${longest}x`]
  const accounts = tenants.map((tenant) => ({ plan: 'gold', tenant }))
  for (const claims of [...wrong, ...accounts]) {
    t.equal(await statusOf(token('alice', claims)), 401, JSON.stringify(claims))
  }
})

t.test(
  'new records are told to the audit by their number, when the gateway stops at the latest',
  async (t) => {
    const redis = await startRedis(t)
    const wire = await startFaultProxy(t, Number(new URL(redis.url).port))
    const store = `redis: "redis://127.0.0.1:${wire.port}"`
    const { statusOf, stores, app } = await start(t, byClaims, { store })
    for (const subject of ['one', 'two', 'one']) await statusOf(token(subject))
    wire.delay(20)
    await Promise.all(Array.from({ length: 4 }, (_, jti) => statusOf(token('three', { jti }))))
    const { audit } = stores
    const told = async () => audit.list({ fromMs: 0, limit: 10, what: 'keys.first' })
    t.strictSame(await told(), [])
    await app.close()
    t.match(await told(), [{ after: { issuer: issuerName, count: 3 } }])
  },
)

t.test(
  'a record that nobody used for 90 days goes, unless an operator has touched it',
  async (t) => {
    const dayMs = 86_400_000
    let now = Date.now()
    const { statusOf, desk, stores, app } = await start(t, byClaims, { clock: () => now })
    const late = (sub: string) => token(sub, { exp: Math.floor(now / 1_000) + 3_600 })
    for (const subject of ['idle', 'touched', 'used']) t.equal(await statusOf(late(subject)), 200)
    await desk.create({ name: 'a key of the house', plan: 'free' })
    await desk.edit(idOf('touched'), desk.changing({ note: 'mine' }))
    await app.front.flushCounts()
    const { unusedCallers } = app.office
    const names = async (): Promise<string[]> => {
      const { keys } = await desk.page({ filter: { all: true }, limit: 10 })
      return keys.map(({ name }) => name)
    }
    now += 90 * dayMs - 1
    await unusedCallers.look()
    t.equal((await names()).length, 4)
    t.equal(await statusOf(late('used')), 200)
    await app.front.flushCounts()
    now += 1
    await unusedCallers.look()
    t.strictSame(await names(), ['a key of the house', 'touched', 'used'])
    t.match(await stores.audit.list({ fromMs: 0, limit: 10, what: 'keys.forget' }), [
      { by: 'gateway', after: { count: 1 } },
    ])
    t.equal(await statusOf(late('idle')), 200)
    t.ok((await names()).includes('idle'), 'it comes again')
  },
)
