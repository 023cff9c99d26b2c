import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/config/config.ts'
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
import { startGateway } from '../support/gateway.ts'
import { root } from '../support/process.ts'
import { startCluster, startRedis, until } from '../support/redis.ts'

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
    for (const { key } of [one, other]) await gateway.desk.change(key.id, { plan: 'pro' })
    await ask(one.headers, 11)
    t.equal(got.length, 3, '31 of 40')
    await ask(other.headers, 1)
    await until(() => got.length === 4)
    t.match(got[3]?.data, { percent: 80, limit: 40, used: 32 })
  })

  await t.test('the next day begins anew', async (t) => {
    move(day)
    await ask(one.headers, 32)
    await until(() => got.length === 5)
    t.match(got[4]?.data, { percent: 80, used: 32 })
  })
  t.equal(new Set(got.map(({ id }) => id)).size, 5)
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
    await noting.change(key.id, { name: 'Farm' })
    await notices.tick()
    await until(() => got.length === 9 && calm.got.length === 2)
    await until(async () => (await view(true)).notices[0]?.why === 'no answer within 5 s')
    t.match(calm.got[1]?.data, { before: { name: 'Zoo' }, after: { name: 'Farm' } })
  })

  await t.test('410 ends an address, until a test arrives there', async (t) => {
    status = 410
    move(10_000)
    await notices.tick()
    await until(async () => (await view(false)).addresses[0]?.endedAt !== null)
    await noting.revoke(key.id)
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
