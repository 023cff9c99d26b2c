import { spawnSync } from 'node:child_process'
import type { lookup as systemLookup } from 'node:dns'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/config/config.ts'
import { parseConfig } from '../../gateway/config/load.ts'
import { previewConfig } from '../../gateway/config/preview.ts'
import { targetsAsTold } from '../../gateway/live/targets.ts'
import type { Notices } from '../../gateway/notices/notices.ts'
import { send } from '../../gateway/notices/send.ts'
import { delaysMs } from '../../gateway/notices/deliveries.ts'
import { noticesView } from '../../gateway/notices/view.ts'
import { KeyDesk } from '../../gateway/operations/key-desk.ts'
import { noterFor } from '../../gateway/records/audit.ts'
import { embeddedNotices } from '../../gateway/stores/embedded/notices.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { redisNotices } from '../../gateway/stores/redis/notices.ts'
import type { Clock } from '../../shared/clock.ts'
import { mostOfTest, noticeStoreContract } from '../contracts/notices.ts'
import { hmacBy } from '../../shared/hmac.ts'
import { startAdmin } from '../support/admin.ts'
import { runCommand } from '../support/command.ts'
import { startFleet } from '../support/fleet.ts'
import { collectGarbage } from '../support/garbage.ts'
import { configFor, startGateway, startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { token as operatorToken } from '../support/operator.ts'
import { bound } from '../support/promises.ts'
import { root } from '../support/process.ts'
import { startRedis, startCluster } from '../support/redis.ts'
import { until } from '../support/until.ts'

void noticeStoreContract(t, 'embedded, in a SQLite file', (t, clock) => {
  const file = join(t.testdir(), 'gateway.db')
  const [one, other] = [openGatewayFile(file), openGatewayFile(file)]
  for (const database of [one, other]) database.pragma('synchronous = NORMAL')
  t.teardown(() => [one, other].forEach((database) => database.close()))
  return Promise.resolve({
    first: embeddedNotices(one, clock, mostOfTest),
    second: embeddedNotices(other, clock, mostOfTest),
  })
})

async function viewsIn(t: Test, testClock: Clock, settings: RedisSettings) {
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 5_000, patient: true }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  const [first, second] = connections.map((connection) =>
    redisNotices({ connection, prefix: 'test:', timeoutMs: 5_000, most: mostOfTest, testClock }),
  )
  if (!first || !second) throw new Error('two were asked for')
  await until(() => connections.every(({ status }) => status === 'ready'))
  return { first, second }
}

void noticeStoreContract(t, 'redis, a single server', async (t, clock) =>
  viewsIn(t, clock, { url: (await startRedis(t)).url }),
)
void noticeStoreContract(t, 'redis, a Cluster', async (t, clock) =>
  viewsIn(t, clock, { cluster: (await startCluster(t)).nodes }),
)

const secret = 'a secret of this test alone'
const day = 86_400_000
/** Noon of a day, so that no test comes near its end. */
const noon = Math.floor(Date.now() / day) * day + day / 2

type Got = Readonly<{
  id: string
  type: string
  data: Record<string, unknown>
  headers: IncomingHttpHeaders
  body: string
}>

/** A receiver on a real socket: notes what comes, and answers what the test says. */
async function startReceiver(t: Test, answer: (nth: number) => number | 'hang' = () => 204) {
  const got: Got[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (text: Buffer) => (body += text.toString()))
    request.on('end', () => {
      const { headers } = request
      const { type, data } = JSON.parse(body) as Pick<Got, 'type' | 'data'>
      got.push({ id: String(headers['webhook-id']), type, data, headers, body })
      const status = answer(got.length)
      if (status !== 'hang') response.writeHead(status, { location: '/elsewhere' }).end('thanks')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const types = () => got.map(({ type }) => type)
  return { got, types, url: `http://127.0.0.1:${port}/hook` }
}

/** The entry of a receiver in the configuration. */
function entry(url: string, more = ''): string {
  return `{ to: "${url}", secret: "${secret}"${more} }`
}

/** A clock that a test moves, which goes on with the real one. */
function movable() {
  let aheadMs = noon - Date.now()
  return {
    clock: () => Date.now() + aheadMs,
    move: (ms: number) => void (aheadMs += ms),
  }
}

const few =
  'plans: { free: { perMinute: unlimited, perDay: 20 }, pro: { perMinute: 9999, perDay: 40 } }'

t.test('a notice is signed so that others can verify it', async (t) => {
  const { got, url } = await startReceiver(t)
  const keys = [`whsec_${Buffer.from('x'.repeat(24)).toString('base64')}`, 'some other secret']
  const more = `notices: [ { to: "${url}", secret: "${keys.join(', ')}" } ]`
  const { app } = await startGateway(t, { more })
  t.match(await app.core.notices.test(), [{ to: /^http:\/\/127.0.0.1:\d+\/…$/, isDelivered: true }])
  const [notice] = got
  if (!notice) throw new Error('it came')
  const { headers, body } = notice
  t.match(headers, { 'content-type': 'application/json', 'user-agent': 'tollgate' })
  t.match(notice, { type: 'notices.test', id: /^msg_[\w-]{27}$/, data: { gateway: /./ } })
  t.match(JSON.parse(body), { timestamp: /^\d{4}-.*Z$/ })

  const signed = `${notice.id}.${String(headers['webhook-timestamp'])}.${body}`
  const bytes = ['x'.repeat(24), 'some other secret']
  const byHashes = bytes.map((key) => Buffer.from(hmacBy(key)(signed), 'hex').toString('base64'))
  const sent = String(headers['webhook-signature'])
  t.equal(sent, byHashes.map((each) => `v1,${each}`).join(' '), 'as two plain hashes make it')
  for (const [i, key] of bytes.entries()) {
    const options = ['dgst', '-sha256', '-hmac', key, '-binary']
    const { stdout, error } = spawnSync('openssl', options, { input: signed })
    if (error) t.comment('this machine has no openssl')
    else t.equal(stdout.toString('base64'), byHashes[i], 'as openssl makes it')
  }

  const readme = readFileSync(join(root, 'gateway/notices/README.md'), 'utf8')
  const [, example = ''] = /```js\n([^]*?)```/.exec(readme) ?? []
  t.ok(example.trim().split('\n').length <= 13, 'a function of ten lines')
  const module = join(t.testdir(), 'verify.mjs')
  writeFileSync(module, example)
  const { isFromGateway } = (await import(pathToFileURL(module).href)) as {
    isFromGateway: (headers: object, body: string, secret: string) => boolean
  }
  for (const key of keys) t.ok(isFromGateway(headers, body, key), key)
  t.notOk(isFromGateway(headers, body.replace('test', 'text'), keys[0] ?? ''), 'another body')
  t.notOk(isFromGateway(headers, body, 'a key of somebody else'))
  t.notOk(isFromGateway({}, body, keys[0] ?? ''), 'without a signature')
  const old = {
    ...headers,
    'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 301),
  }
  t.notOk(isFromGateway(old, body, keys[0] ?? ''), 'of another time')
})

t.test('the end of a day is told at the exact request, once', async (t) => {
  const { got, types, url } = await startReceiver(t)
  const { clock, move } = movable()
  const more = `${few}\nnotices: [ ${entry(url, ', about: [key.near_limit, key.limit_reached]')} ]`
  const gateway = await startGateway(t, { more, clock })
  const { notices } = gateway.app.core
  const ask = async (headers: Record<string, string>, times = 1) => {
    for (let i = 0; i < times; i++) await gateway.call('GET', '/v1/x', undefined, headers)
    await notices.outbox.flush()
    await notices.tick()
  }
  const [one, other] = [
    await gateway.key({ account: 'zoo' }),
    await gateway.key({ account: 'zoo' }),
  ]
  if (!one || !other) throw new Error('two keys were made')
  await ask(one.headers, 8)
  await ask(other.headers, 7)
  await notices.tick()
  t.strictSame(types(), [], '15 of 20 are nothing')
  await ask(other.headers)
  await until(() => got.length === 1)
  t.match(got, [
    {
      type: 'key.near_limit',
      data: {
        key: { id: other.key.id, name: 'Test', account: 'zoo' },
        ...{ plan: 'free', window: 'day', percent: 80, limit: 20, used: 16 },
        resetsAt: new Date(noon + day / 2).toISOString(),
      },
    },
  ])
  await ask(one.headers, 2)
  await ask(other.headers, 1)
  await until(() => got.length === 2)
  t.match(got[1]?.data, { percent: 95, used: 19 })
  await ask(one.headers, 3)
  await until(() => got.length === 3)
  t.match(got[2], { type: 'key.limit_reached', data: { percent: 100, used: 20 } })

  await t.test('a raised plan tells what is crossed anew, and nothing else', async (t) => {
    for (const { key } of [one, other])
      await gateway.desk.edit(key.id, gateway.desk.changing({ plan: 'pro' }))
    await ask(one.headers, 11)
    t.equal(got.length, 3, '31 of 40')
    await ask(other.headers, 1)
    await until(() => got.length === 4)
    t.match(got[3]?.data, { percent: 80, limit: 40, used: 32 })
  })

  await t.test('a test key of the account tells of its own quota, and says so', async (t) => {
    const { key, headers } = await gateway.key({ account: 'zoo', test: true })
    await ask(headers, 16)
    await until(() => got.length === 5)
    const data = { key: { id: key.id, account: 'zoo', test: true }, percent: 80, used: 16 }
    t.match(got[4]?.data, data)
  })

  await t.test('the next day begins anew', async (t) => {
    move(day)
    await ask(one.headers, 32)
    await until(() => got.length === 6)
    t.match(got[5]?.data, { percent: 80, used: 32 })
  })
  t.equal(new Set(got.map(({ id }) => id)).size, 6)
  t.notMatch(got.map(({ body }) => body).join(), /tg_/, 'no token')
})

t.test('a receiver in trouble gets the same notice again, as long as it may take', async (t) => {
  const { clock, move } = movable()
  let status: number | 'hang' = 500
  const receiver = await startReceiver(t, () => status)
  const calm = await startReceiver(t)
  const more = `notices: [ ${entry(receiver.url)}, ${entry(calm.url)} ]`
  const { app, stores, config } = await startGateway(t, { more, clock })
  const { notices, meters } = app.core
  const { got } = receiver
  const store = stores.notices
  const view = (isFailed: boolean) =>
    noticesView({ notices: config.notices, store, isFailed, limit: 9 })
  await notices.tick()
  const noted = noterFor(stores.audit, 'alice', clock)
  const noting = new KeyDesk({ store: stores.keys, plans: config.plans, clock, noted })
  const { key } = await noting.create({ name: 'Zoo', plan: 'free', account: 'acme' })
  await notices.tick()
  await until(() => got.length === 1)
  await until(() => calm.got.length === 1)
  for (const [i, delayMs] of delaysMs.entries()) {
    await until(async () => (await view(true)).notices[0]?.tries === i + 1)
    move(delayMs - 2_000)
    await notices.tick()
    if (i === 2) {
      t.match((await view(true)).notices, [{ type: 'key.created', tries: 3, why: 'answered 302' }])
    }
    t.equal(got.length, i + 1, 'not before its time')
    move(2_000)
    if (i === 1) status = 302
    await notices.tick()
    await until(() => got.length === i + 2)
  }
  await until(async () => (await view(true)).notices[0]?.nextTryAt === null)
  t.match(await view(false), {
    addresses: [{ waiting: 0, givenUp: 1 }, { givenUp: 0 }],
    notices: [{ tries: 8, to: /^http:\/\/127.0.0.1:\d+\/…$/ }],
  })
  t.equal(new Set(got.map(({ id }) => id)).size, 1, 'eight tries have one id')
  t.equal(new Set(got.map(({ body }) => body)).size, 1, 'and one body')
  t.match(got[0]?.data, { key: { id: key.id, name: 'Zoo', account: 'acme' }, by: 'alice' })
  t.equal(calm.got.length, 1, 'another address got it once')
  const counted = [...meters.notices].map(([type, result, count]) => `${type} ${result} ${count}`)
  t.strictSame(counted.sort(), [
    ...['key.created delivered 1', 'key.created failed 8', 'key.created given_up 1'],
  ])

  await t.test('one that hangs is left after five seconds, and holds up nobody', async (t) => {
    status = 'hang'
    await noting.edit(key.id, noting.changing({ name: 'Farm' }))
    await notices.tick()
    await until(() => got.length === 9 && calm.got.length === 2)
    // A time limit must not be garbage while it runs.
    await until(async () => {
      collectGarbage()
      return (await view(true)).notices[0]?.why === 'no answer within 5 s'
    })
    t.match(calm.got[1]?.data, { before: { name: 'Zoo' }, after: { name: 'Farm' } })
  })

  await t.test('410 ends an address, until a test arrives there', async (t) => {
    status = 410
    move(10_000)
    await notices.tick()
    await until(async () => (await view(false)).addresses[0]?.endedAt !== null)
    await noting.edit(key.id, noting.revoking())
    await notices.tick()
    await until(() => calm.got.length === 3)
    t.equal(got.length, 10)
    t.equal(calm.got[2]?.type, 'key.revoked')
    t.match(await notices.test(), [{ isDelivered: false, status: 410 }, { isDelivered: true }])
    t.ok((await view(false)).addresses[0]?.endedAt)
    status = 200
    t.match(await notices.test(), [{ isDelivered: true }, {}])
    t.equal((await view(false)).addresses[0]?.endedAt, null)
  })
})

t.test('notices go to the internet, to this machine, or where they are allowed', async (t) => {
  const check = (to: string, more = '', environment = {}) => {
    const yaml = configFor('http://127.0.0.1:1', 'file: x.db', {
      more: `notices: [ { to: "${to}", secret: "${secret}"${more} } ]`,
    })
    try {
      parseConfig(yaml, environment, 'x')
      return ''
    } catch (error) {
      return String(error instanceof Error && error.message).replace(/^x:\d+:\d+: /, '')
    }
  }
  const internal = [
    ...['10.0.0.1', '172.16.0.9', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'],
    ...[
      '224.0.0.1',
      '[fd00::1]',
      '[fe80::1]',
      '[::ffff:10.0.0.1]',
      '[64:ff9b::a00:1]',
      '0xa000001',
    ],
    ...['redis', 'metadata.google.internal', 'printer.local', '10.1', 'db.corp.internal.'],
  ]
  for (const host of internal) {
    t.match(check(`https://${host}/x`), /^notices\[0\]\.to is .*: notices go there only if /, host)
  }
  t.equal(
    check('https://10.0.0.1/x'),
    'notices[0].to is 10.0.0.1, an address of a private network: notices go there only if it is in allow, such as allow: [10.0.0.1]',
  )
  t.match(check('http://10.0.0.1/x'), /must be https/)
  t.match(check('http://10.0.0.1/x', ', allow: [10.0.0.0/8]'), /must be https/)
  t.match(check('http://hooks.example/x'), /must be https/)
  t.match(check('https://me:word@hooks.example'), /must have no user name/)
  t.match(
    check('https://hooks.example', ', allow: [10.0.0.0/40]'),
    /notices\[0\]\.allow\[0\] must be/,
  )
  t.match(check('https://hooks.example', ', about: [key.bannd]'), /did you mean key\.banned\?/)
  const fine = [
    'https://hooks.example/x?y=z',
    'http://localhost:9/x',
    'http://127.0.0.1',
    'http://[::1]',
  ]
  for (const to of fine) t.equal(check(to), '', to)
  t.equal(check('https://10.0.0.1/x', ', allow: [10.0.0.0/8]'), '')
  t.equal(check('https://redis/x', ', allow: [10.0.0.0/8]'), '')
  const hidden = check('${HOOK}', '', { HOOK: 'https://10.0.0.77/word' })
  t.match(hidden, /an address of a private network/)
  t.notMatch(hidden, /10\.0\.0\.77|word/, 'the value of a variable is not told')

  const written = (value: string) => {
    const more = `notices: [ { to: "https://hooks.example/${value}", secret: "${value}" } ]`
    return configFor('http://127.0.0.1:1', 'file: x.db', { more })
  }
  for (const value of ['short', 'whsec_c2hvcnQ=', `${secret},${secret},${secret}`]) {
    t.throws(() => parseConfig(written(value), {}, 'x'), {
      message: /secret must be one or two keys/,
    })
  }
  const { shown } = previewConfig(written(secret.replaceAll(' ', '-')), {}, 'x')
  t.match(shown, { notices: [{ secret: '…' }] })

  const { url, got } = await startReceiver(t)
  const notice = { id: 'msg_1', body: '{"type":"t","data":{}}' }
  const { port } = new URL(url)
  const to = (address: string, allow: string[] = [], host = 'hooks.example') =>
    send({
      settings: { to: `http://${host}:${port}/hook`, secrets: [secret], about: ['*'], allow },
      ...{ notice, nowMs: Date.now(), signal: new AbortController().signal },
      // A name whose owner moves it.
      lookup: ((_host: string, _options: object, done: (...found: unknown[]) => void) =>
        done(null, [{ address, family: 4 }])) as unknown as typeof systemLookup,
    })
  t.match(await to('127.0.0.1'), {
    isDelivered: false,
    why: 'hooks.example: 127.0.0.1 is an address of this machine, and not in allow',
  })
  t.match(await to('127.0.0.1', ['127.0.0.0/8']), { isDelivered: true })
  t.match(await to('10.0.0.1', [], '10.0.0.1'), { why: /^10\.0\.0\.1 is an address of a private/ })
  t.equal(got.length, 1, 'and only there is a connection made')
})

t.test('what operators, keys and gateways do is told', async (t) => {
  const { clock, move } = movable()
  const { got, types, url } = await startReceiver(t)
  const sunset = (days: number) => new Date(noon + days * day).toISOString().slice(0, 10)
  const more = `plans: { free: { perMinute: 3, perDay: 1000 } }
bans: { strikes: 1, grace: 1ms }
notices: [ ${entry(url)} ]
deprecations:
  - { operation: GET /v1/old, since: 2025-12-05, sunset: ${sunset(33)}, replacement: /v1/new }
  - { operation: GET /v1/far, since: 2025-12-05, sunset: ${sunset(90)} }`
  const admin = await startAdmin(t, { more, clock })
  const { ask, gateway } = admin
  const { core } = gateway.app
  const { notices, stores } = { notices: core.notices, stores: core.stores }
  /** Waits for a notice, ticking on. */
  const told = async (type: string, nth = 0) => {
    const found = () => got.filter((each) => each.type === type)[nth]
    await until(async () => {
      await notices.tick()
      return found() !== undefined
    })
    return found()?.data
  }
  await notices.tick()
  const made = json(
    await ask('POST', '/admin/keys', { name: 'Zoo', plan: 'free', account: 'acme' }),
  )
  const [id, token] = [String(made['id']), String(made['key'])]
  const key = { id, name: 'Zoo', account: 'acme' }
  t.match(await told('key.created'), { key, plan: 'free' })
  await ask('PATCH', `/admin/keys/${id}`, { note: 'seen' })
  t.match(await told('key.changed'), { key, before: { note: null }, after: { note: 'seen' } })
  await ask('POST', `/admin/keys/${id}/disable`)
  t.match(await told('key.changed', 1), { after: { state: 'disabled' } })
  await ask('POST', `/admin/keys/${id}/enable`)

  const headers = { authorization: `Bearer ${token}` }
  await gateway.call('GET', '/v1/old', undefined, headers)
  for (let i = 0; i < 9; i++) {
    await gateway.call('GET', '/v1/x', undefined, headers)
    await new Promise((go) => setTimeout(go, 2))
  }
  t.match(await told('key.banned'), { key, by: 'gateway', until: /Z$/ })
  await ask('DELETE', `/admin/bans/${id}`)
  t.match(await told('key.ban_lifted'), { key })
  const rotated = await ask('POST', `/admin/keys/${id}/rotate`)
  t.match(await told('key.rotated'), { key })
  await ask('PATCH', `/admin/keys/${id}`, { expiresAt: new Date(clock() + 6 * day).toISOString() })
  await notices.walks.walk()
  t.match(await told('key.expiring'), { key, days: 7 })
  t.notOk(types().includes('operation.sunset_near'), 'a far sunset is not told')
  await core.tallying.flush()
  // A tick begins the walk of the hour.
  move(5.5 * day)
  t.match(await told('key.expiring', 1), { key, days: 1 })
  t.match(await told('operation.sunset_near'), {
    ...{ operation: 'GET /v1/old', days: 30, keys: 1, replacement: '/v1/new' },
  })
  await notices.walks.walk()
  await notices.walks.walk()
  await ask('POST', `/admin/keys/${id}/revoke`)
  t.match(await told('key.revoked'), { key })
  await notices.walks.walk()

  const audit = { atMs: clock(), by: 'gateway g', subject: 'animals', before: null }
  for (const step of [1, 2])
    await stores.audit.add({ ...audit, what: 'swap.step', after: { step } })
  await stores.audit.add({ ...audit, what: 'swap.back', after: { why: 'it failed' } })
  t.match(await told('upstream.swap_back'), { upstream: 'animals', why: 'it failed' })
  t.notOk(types().includes('upstream.swapped'), 'without a swap no step is the last one')
  await stores.audit.add({ ...audit, what: 'swap.finish', after: { step: 3 } })
  t.match(await told('upstream.swapped'), { upstream: 'animals' })
  await stores.audit.add({ ...audit, what: 'gateways.differ', after: { inForce: [{ hash: 'a' }] } })
  t.match(await told('gateways.differ'), { inForce: [{ hash: 'a' }] })

  const file = 'gateway.yaml'
  const places = ['plans.free.perMinute']
  for (const hash of ['one', 'one', 'two']) notices.config.changed({ file, hash, by: 'x', places })
  for (const mistakes of [['line 1: a'], ['line 1: a']]) notices.config.refused(file, mistakes)
  notices.config.sound()
  notices.config.refused(file, ['line 1: a'])
  t.match(await told('config.changed', 1), { config: 'two', changed: places })
  t.match(await told('config.refused', 1), { file, mistakes: ['line 1: a'], count: 1 })

  await t.test(
    'a target that a gateway of the past took out is let in by the next one',
    async (t) => {
      const [{ upstream, target } = { upstream: '', target: '' }] = targetsAsTold(
        core.upstreams.all,
      )
      const gone = { subject: `target ${upstream} ${target}`, state: 'out', by: 'gone' }
      await stores.notices.turn(gone, undefined, [])
      notices.targets.out(upstream, target, new Error('refused'))
      t.match(await told('upstream.target_back'), { upstream, target })
      notices.targets.out(upstream, target, new Error('refused'))
      t.match(await told('upstream.target_out'), { upstream, target, why: 'refused' })
      notices.targets.back(upstream, target)
      await told('upstream.target_back', 1)
    },
  )

  t.equal(new Set(got.map(({ id }) => id)).size, got.length, 'each once')
  const once = types().filter((type) => type === 'key.revoked' || type === 'operation.sunset_near')
  t.equal(once.length, 2)
  const bodies = got.map(({ body }) => body).join()
  for (const each of [token, String(json(rotated)['key'])])
    t.notOk(bodies.includes(each), 'no token')

  await t.test('operators see what doesn’t arrive', async (t) => {
    t.match(json(await ask('GET', '/admin/notices?failed=true')), { notices: [] })
    t.match(json(await ask('POST', '/admin/notices/test')), [{ delivered: true, status: 204 }])
    const { text } = await ask('GET', '/metrics')
    t.match(text, /^tollgate_notices_total\{type="key\.created",result="delivered"\} 1$/m)
    const environment = { ADMIN_TOKEN: operatorToken, TOLLGATE_CONFIG: admin.file }
    const { code, out } = await runCommand(['notices', 'list'], environment)
    t.equal(code, 0)
    t.match(out, /ADDRESS .*\n?[^]*http:\/\/127\.0\.0\.1:\d+\/… +\* +0 +0 +0/)
    t.match(out, 'No notice waits.')
  })
})

t.test('an outage of the store is told while it lasts, and its end', async (t) => {
  const redis = await startRedis(t)
  const { clock, move } = movable()
  const { got, types, url } = await startReceiver(t)
  const more = `notices: [ ${entry(url, ', about: [store.*, upstream.*]')} ]`
  const store = `redis: "${redis.url}", timeout: 200ms`
  const gateways = [
    await startGateway(t, { more, clock, store }),
    await startGateway(t, { more, clock, store }),
  ]
  const each = (what: (notices: Notices) => Promise<unknown>) =>
    Promise.all(gateways.map(({ app }) => what(app.core.notices)))
  const tick = () => each((notices) => notices.tick())
  await tick()
  await tick()
  const key = await gateways[0]?.key()
  const ask = () =>
    Promise.all(gateways.map(({ call }) => call('GET', '/v1/x', undefined, key?.headers)))
  await ask()
  await redis.kill()
  await until(async () => {
    await ask()
    return gateways.every(({ app }) => !app.core.quotas.isReachable)
  })
  await tick()
  t.strictSame(types(), [], 'a short one is none')
  move(5_000)
  for (const { app } of gateways) {
    app.core.notices.targets.out('animals', 'http://10.0.0.1', undefined)
  }
  await until(async () => {
    await tick()
    return got.length > 0
  })
  await tick()
  t.strictSame(types(), ['store.out_of_reach'])
  await redis.restart()
  await until(() => gateways.every(({ app }) => app.core.quotas.isReachable))
  await until(async () => {
    await tick()
    return got.length >= 3
  })
  move(7_000)
  await tick()
  await tick()
  t.strictSame(types().sort(), ['store.back', 'store.out_of_reach', 'upstream.target_out'])
})

t.test('four gateways tell of one key exactly twice', async (t) => {
  const redis = await startRedis(t)
  const { got, url } = await startReceiver(t, (nth) => (nth <= 2 ? 500 : 200))
  const more = `plans: { free: { perMinute: unlimited, perDay: 200 } }
notices: [ ${entry(url, ', about: [key.near_limit]')} ]`
  const store = `redis: "${redis.url}"`
  const gateways = await Promise.all([1, 2, 3, 4].map(() => startGateway(t, { more, store })))
  const [first] = gateways
  if (!first) throw new Error('there are four')
  const { headers } = await first.key()
  await Promise.all(
    Array.from({ length: 49 }).flatMap(() =>
      gateways.map(({ call }) => call('GET', '/v1/x', undefined, headers)),
    ),
  )
  const tick = () =>
    Promise.all(
      gateways.map(async ({ app: { core } }) => {
        await core.notices.outbox.flush()
        await core.notices.tick()
      }),
    )
  await until(async () => {
    await tick()
    return got.length >= 2
  })
  t.equal(new Set(got.map(({ id }) => id)).size, 2)
  t.strictSame(got.map(({ data }) => data['percent']).sort(), [80, 95])
  // Gateways that have restarted see the same once more.
  const again = await startGateway(t, { more, store })
  for (let i = 0; i < 2; i++) await again.call('GET', '/v1/x', undefined, headers)
  await again.app.core.notices.outbox.flush()
  await tick()
  const { stores, config } = first
  const view = await noticesView({
    ...{ notices: config.notices, store: stores.notices, isFailed: false, limit: 9 },
  })
  t.strictSame(
    view.notices.map(({ tries }) => tries),
    [1, 1],
    'both wait for their second try',
  )
})

t.test(
  'a gateway that is killed loses no notice, and a hanging address slows no request',
  async (t) => {
    const redis = await startRedis(t)
    let status: number | 'hang' = 'hang'
    const { got, url } = await startReceiver(t, () => status)
    const upstream = await startUpstream(t)
    const more = `${few}\nnotices: [ ${entry(url, ', about: [key.*, config.*]')} ]`
    const options = { upstream: upstream.url, store: `redis: "${redis.url}"`, more }
    const fleet = await startFleet(t, { ...options, environments: [{}, {}] })
    const [one, other] = fleet.urls.map(caller)
    const headers = await fleet.key()
    for (let i = 0; i < 16; i++) await one?.('GET', '/v1/x', undefined, headers)
    // It hangs at whichever of them sends.
    await until(() => got.length === 1)
    t.equal(got[0]?.type, 'key.near_limit')
    fleet.processes[0]?.child.kill('SIGKILL')
    await fleet.processes[0]?.ended
    const beganAtMs = performance.now()
    t.equal((await other?.('GET', '/v1/x', undefined, headers))?.status, 200)
    t.ok(performance.now() - beganAtMs < bound(1_000), 'no request waits for it')
    status = 204
    await redis.client.eval(
      "for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 0, id) end",
      1,
      String((await redis.client.keys('*{notices}:due:*'))[0]),
    )
    await until(() => got.length === 2, 15_000)
    t.equal(got[1]?.id, got[0]?.id, 'under the same id')

    const written = readFileSync(fleet.file, 'utf8')
    writeFileSync(fleet.file, written.replace('perDay: 20 ', 'perDay: 30 '))
    await until(() => got.some(({ type }) => type === 'config.changed'), 15_000)
    t.match(got.at(-1)?.data, { changed: ['plans.free.perDay'], by: 'the file' })
    writeFileSync(fleet.file, written.replace('perDay: 20 ', 'perDay: twenty '))
    await until(() => got.some(({ type }) => type === 'config.refused'), 15_000)
  },
)
