import Fastify from 'fastify'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { KeyChange, NewGrant, NewKey } from '../../../gateway/office/app/tollgate.ts'
import type { keyChange, newKey } from '../../../gateway/office/operations/keys/settings.ts'
import { tollgate, TollgateError } from '../../../gateway/index.ts'
import type { ConfigFile } from '../../../gateway/office/config/file.ts'
import type { TollgateOptions } from '../../../gateway/plugin.ts'
import type { limitNames } from '../../../shared/windows.ts'
import { audience, issuerName, signingKey, startKeyServer, tokenOf } from '../../support/jwt.ts'
import { mine } from '../../support/plugin.ts'
import { startRedis } from '../../support/redis.ts'
import { folderOf } from '../../support/folder.ts'

const plans = { free: { perMinute: 60, perDay: 1000 }, pro: { perMinute: 300, perDay: 10_000 } }

/** An app with one guarded route, as somebody would write it. */
async function start(t: Test, more: object = {}) {
  const app = Fastify()
  t.teardown(() => app.close())
  const store = { file: join(folderOf(t), 'gateway.db') }
  const options = { config: { plans, store, routes: [] }, ...more } as TollgateOptions
  await app.register(tollgate, options)
  app.get('/mine', mine, ({ tollgate }) => tollgate?.caller?.name ?? '')
  const ask = (key: string) =>
    app.inject({ url: '/mine', headers: { authorization: `Bearer ${key}` } })
  return { app, ask, operations: app.tollgate }
}

t.test('an app makes, finds, changes, rotates and revokes keys', async (t) => {
  const { ask, operations } = await start(t)
  const { keys } = operations
  const made = await keys.create({
    name: 'Ada',
    plan: 'free',
    account: 'acme',
    limits: { perMinute: 5 },
    expiresAt: new Date('2100-01-01T00:00:00Z'),
    note: undefined,
  })
  t.match(made, { id: /^key_|./, key: /^tg_/, plan: 'free' })
  t.strictSame(Object.keys(made), ['id', 'key', 'plan'], 'as with --json')
  const { key, id } = made
  t.match(await ask(key), { statusCode: 200, body: 'Ada', headers: { 'x-ratelimit-limit': '5' } })

  const shown = { id, name: 'Ada', account: 'acme', expiresAt: '2100-01-01T00:00:00.000Z' }
  t.match(await keys.show('Ada'), shown, 'by its name')
  t.match(await keys.show(key), { ...shown, standing: { minute: { used: 1 } } }, 'by its token')
  t.match(await keys.find(key), { id, works: true })
  t.equal(await keys.find('tg_nobody'), undefined)
  t.match(await keys.list(), [{ id, limits: { perMinute: 5 } }])
  t.strictSame(await keys.list({ plan: 'pro' }), [])
  t.match(await keys.list({ limit: 1 }), { keys: [{ id }], next: null })
  t.match(await keys.list({ limit: 1, sort: 'use' }), { keys: [{ id, admittedToday: Number }] })

  t.match(await keys.change(id, { plan: 'pro', limits: null, account: null }), { plan: 'pro' })
  t.match(await ask(key), { headers: { 'x-ratelimit-limit': '300' } })
  const rotated = await keys.rotate(id, { overlap: '0', by: 'ada' })
  t.match([(await ask(key)).statusCode, (await ask(rotated.key)).statusCode], [401, 200])
  t.match(await keys.find(key), { id, works: false })
  t.match(await keys.disable(id), { state: 'disabled' })
  t.equal((await ask(rotated.key)).statusCode, 401)
  t.match(await keys.enable(id), { state: 'active' })
  t.match(await keys.revoke(id), { state: 'revoked' })
  t.equal((await ask(rotated.key)).statusCode, 401)
  t.strictSame(await keys.list(), [])
  t.match(await keys.list({ all: true }), [{ id, state: 'revoked' }])

  const { lines } = (await operations.explain(id)) as { lines: { what: string; by: string }[] }
  const by = lines.map(({ what, by }) => [what, by].join(' '))
  t.ok(by.includes('keys.create app') && by.includes('keys.rotate ada'), 'the audit names authors')
})

t.test('an app shows, resets and grants quotas, and sets and lifts bans', async (t) => {
  const { ask, operations } = await start(t)
  const { keys, quotas, bans } = operations
  const { key, id } = await keys.create({ name: 'Me', plan: 'free' })
  await ask(key)
  t.match(await quotas.show(id), { name: 'Me', minute: { limit: 60, used: 1 } })
  t.match(await quotas.grant(id, { perDay: 50, note: 'sorry' }), {
    day: { limit: 1050 },
    grants: [{ perDay: 50, by: 'app', note: 'sorry' }],
  })
  t.match(await quotas.reset('Me'), { minute: { used: 0 } })
  t.match(await bans.set(id, { for: '1h', by: 'ada' }), { id, name: 'Me' })
  const banned = await ask(key)
  t.equal(banned.statusCode, 429)
  t.match(await bans.list(), [{ id, name: 'Me' }])
  const requestId = String(banned.headers['x-request-id'])
  t.match(await operations.explain(requestId), { answers: [{ code: 'key_banned', key: id }] })
  t.strictSame(await bans.lift(id), { id, lifted: true })
  t.equal((await ask(key)).statusCode, 200)
  const text = await operations.metrics()
  t.match(text, /^tollgate_requests_total\{.*status="200".*\} 2$/m)
  t.match(text, /^tollgate_config_refused 0$/m)
})

t.test('an app finds the caller of a JWT that verifies, by keys that it has', async (t) => {
  const key = signingKey('ES256')
  const server = await startKeyServer(t, [key])
  const jwt = [{ issuer: issuerName, audience, keys: server.url, plan: 'free' }]
  const store = { file: join(folderOf(t), 'gateway.db') }
  const { ask, operations } = await start(t, { config: { plans, store, routes: [], jwt } })
  const token = tokenOf(key)
  t.equal((await ask(token)).statusCode, 200)
  t.match(await operations.keys.find(token), { name: 'alice', works: true })
  const endless = tokenOf(key, { claims: { exp: 1e14 } })
  t.match(await operations.keys.find(endless), { name: 'alice', works: true })
  t.equal(await operations.keys.find(`${token.slice(0, -3)}AAA`), undefined, 'forged')
  t.equal(await operations.keys.find(tokenOf(key, { claims: { exp: 1 } })), undefined)
  t.equal(server.asked(), 1)
})

t.test('a mistake says what is wrong, has a code, and changes nothing', async (t) => {
  const { operations } = await start(t)
  const { keys, quotas, bans } = operations
  const wrong = async (promise: Promise<unknown>, code: string, message: RegExp | string) =>
    t.rejects(promise, { code, message })
  const name = 'Me'
  const given = (members: object) => members as NewKey
  await wrong(keys.create(given({ name })), 'invalid_request', 'keys create: plan is missing')
  await wrong(
    keys.create(given({ name, plan: 'free', acount: 'x', limits: { perMinute: 0 } })),
    'invalid_request',
    /^keys create: the object has no setting "acount"; did you mean account\?; limits\.perMinute must be/,
  )
  await wrong(keys.create({ name, plan: 'gold' }), 'invalid_request', /plan "gold"/)
  await wrong(keys.create({ name, plan: 'free', by: 'a\nb' }), 'invalid_request', /by must be/)
  t.strictSame(await keys.list(), [])
  await wrong(keys.show('nobody'), 'not_found', /nobody/)
  await wrong(keys.show(5 as unknown as string), 'invalid_request', /name a key by its id/)
  await wrong(keys.find('a b'), 'invalid_request', /no white space/)
  const { id } = await keys.create({ name, plan: 'free' })
  await wrong(keys.change(id, {}), 'invalid_request', /no change was given/)
  await wrong(bans.set(id, { for: 'long' }), 'invalid_request', /for must be a duration/)
  await wrong(bans.lift(id), 'not_found', /isn’t banned/)
  await wrong(quotas.grant(id, {}), 'invalid_request', /give at least one of perSecond, perMinute/)
  await keys.revoke(id)
  await wrong(keys.rotate(id), 'conflict', /revoked/)
})

t.test('in a route of the app, a mistake has the status that fits', async (t) => {
  const { app, operations } = await start(t)
  const { id } = await operations.keys.create({ name: 'Me', plan: 'free' })
  await operations.keys.revoke(id)
  const statusOf = async (error: unknown) => {
    t.ok(error instanceof TollgateError && error.name === 'TollgateError')
    return (error as TollgateError).statusCode
  }
  const rejected = (promise: Promise<unknown>) => promise.then(() => undefined, statusOf)
  t.equal(await rejected(operations.keys.show('nobody')), 404)
  t.equal(await rejected(operations.keys.rotate(id)), 409)
  t.equal(await rejected(operations.keys.create({ name: 'Me', plan: 'gold' })), 400)
  t.equal(await rejected(operations.explain('no such id or key')), 404)
  app.get('/nobody', () => app.tollgate.keys.show('nobody'))
  t.match(await app.inject('/nobody'), { statusCode: 404, body: /nobody/ })
})

t.test('what JavaScript lets pass is a mistake, too', async (t) => {
  const { operations } = await start(t)
  const { keys, quotas } = operations
  const deep = JSON.parse('{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000)) as NewKey
  for (const wrong of [null, 'a text', 5, deep] as unknown[] as NewKey[]) {
    await t.rejects(keys.create(wrong), { code: 'invalid_request', message: /takes an object/ })
    await t.rejects(quotas.grant('Me', wrong as object), { message: /takes an object/ })
  }
  const nobody = undefined as unknown as string
  await t.rejects(quotas.show(nobody), { code: 'invalid_request', message: /name a key by its id/ })
  await t.rejects(operations.reload(deep as unknown as ConfigFile), { message: /levels/ })
})

t.test('an outage has a code and a status, and says so', async (t) => {
  const redis = await startRedis(t)
  const store = { redis: redis.url, timeout: '200ms' } as const
  const { operations } = await start(t, { config: { plans, store, routes: [] } })
  await redis.kill()
  const error = { name: 'TollgateError', code: 'service_unavailable', statusCode: 503 }
  await t.rejects(operations.keys.create({ name: 'Me', plan: 'free' }), {
    ...error,
    message: /^The store can’t be reached just now/,
  })
})

t.test('the option clock moves windows and bans', async (t) => {
  let now = Date.UTC(2026, 5, 15, 12)
  const { ask, operations } = await start(t, {
    clock: () => now,
    config: {
      plans: { free: { perMinute: 1, perDay: 9 } },
      store: { file: ':memory:' },
      routes: [],
    },
  })
  const { key } = await operations.keys.create({ name: 'Me', plan: 'free' })
  const statuses = async () => [(await ask(key)).statusCode, (await ask(key)).statusCode]
  t.strictSame(await statuses(), [200, 429])
  now += 60_000
  t.strictSame(await statuses(), [200, 429])
})

t.test('after the app has closed they say so', async (t) => {
  const { app, operations } = await start(t)
  await app.close()
  const closed = /^the app is closed/
  await t.rejects(operations.keys.list(), { message: closed })
  await t.rejects(operations.keys.find('x'), { message: closed })
  await t.rejects(operations.bans.list(), { message: closed })
  await t.rejects(operations.explain('x'), { message: closed })
  await t.rejects(operations.reload({ plans, routes: [] }), { message: closed })
  await t.rejects(operations.metrics(), { message: closed })
})

type Group<Name> = Name extends `${infer Of}.${string}` ? Of : Name
type Exact<One, Other> = [One, Other] extends [Other, One] ? true : false

t.test('their types have the members that the operations take', (t) => {
  const ofNew: Exact<Exclude<keyof NewKey, 'by' | 'monthFrom'>, Group<keyof typeof newKey>> = true
  const ofChange: Exact<
    Exclude<keyof KeyChange, 'by' | 'monthFrom'>,
    Group<keyof typeof keyChange>
  > = true
  const ofGrant: Exact<Exclude<keyof NewGrant, 'by' | 'note'>, (typeof limitNames)[number]> = true
  t.ok(ofNew && ofChange && ofGrant, 'the compiler says so')
  t.end()
})
