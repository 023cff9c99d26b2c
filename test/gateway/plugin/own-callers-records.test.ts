import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import type { OwnCaller } from '../../../gateway/index.ts'
import { configOf } from '../../../gateway/office/config/load.ts'
import { openWings } from '../../../gateway/wings.ts'
import { ofToken, plans, startOwnCallers } from '../../support/own-callers.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const url = (await startRedis(t)).url

t.test('two instances know a caller as one: its limits hold over both', async (t) => {
  const more = { store: { redis: url, prefix: 'both:' } }
  const callers = (token: string) => {
    const caller = ofToken(token)
    return caller && { ...caller, account: 'acme', limits: { perMinute: 20 } }
  }
  const now = Date.now()
  const options = { more, callers, clock: () => now }
  const [one, other] = [await startOwnCallers(t, options), await startOwnCallers(t, options)]
  const statuses = await Promise.all(
    Array.from({ length: 60 }, (_, i) => (i % 2 ? one : other).statusOf(`of-ada-${i % 6}`)),
  )
  t.strictSame(statuses.filter((status) => status === 200).length, 20)
  t.strictSame(new Set(statuses), new Set([200, 429]))
  const [listed, again] = await one.operations.keys.list()
  t.match(listed, { name: 'ada', kind: 'app', account: 'acme', limits: { perMinute: 20 } })
  t.equal(again, undefined, 'one record for all its tokens')
  t.equal(await one.statusOf('of-bob'), 429, 'another caller of the account')
  t.equal(one.asked.filter((token) => token === 'of-ada-1').length, 1)
})

const stores = { 'a file': undefined, 'two instances of one Redis': url }
for (const [where, redis] of Object.entries(stores)) {
  t.test(`disabling a caller acts within a second, in ${where}`, async (t) => {
    const more = redis === undefined ? {} : { store: { redis, prefix: 'disabled:' } }
    const one = await startOwnCallers(t, { more })
    const other = redis === undefined ? one : await startOwnCallers(t, { more })
    t.strictSame([await one.statusOf('of-ada'), await other.statusOf('of-ada')], [200, 200])
    await one.operations.keys.disable('ada')
    const disabledAtMs = performance.now()
    await until(async () => (await other.statusOf('of-ada')) === 401)
    t.ok(performance.now() - disabledAtMs < 1_000)
    t.equal(await other.statusOf('of-ada-2'), 401, 'for a new token, too')
    t.equal(await other.statusOf('of-bob'), 200)
    await one.operations.keys.enable('ada')
    await until(async () => (await other.statusOf('of-ada')) === 200)
    await one.operations.keys.revoke('ada')
    await until(async () => (await other.statusOf('of-ada')) === 401)
  })
}

t.test('an operator’s limits go before those of the app, which the record follows', async (t) => {
  let said: OwnCaller = { id: 'ada', plan: 'free', limits: { perMinute: 5, perDay: 50 } }
  const { ask, operations } = await startOwnCallers(t, { cacheFor: '0s', callers: () => said })
  const limits = async () => {
    const { minute, day } = (await ask('one', '/v1/quota')).json<Record<string, object>>()
    return { minute, day }
  }
  t.match(await limits(), { minute: { limit: 5 }, day: { limit: 50 } })
  const { keys } = operations
  await keys.change('ada', { limits: { perMinute: 7 }, name: 'Ada L.', note: 'mine' })
  await until(async () => JSON.stringify(await limits()).includes('"limit":7'))
  said = { id: 'ada', plan: 'pro', name: 'Other', limits: { perMinute: 6, perDay: 60 } }
  t.match(await limits(), { minute: { limit: 7 }, day: { limit: 60 } })
  await until(async () => (await keys.show('ada')).plan === 'pro')
  t.match(await keys.show('ada'), {
    ...{ name: 'Ada L.', note: 'mine', limits: { perMinute: 7, perDay: 60 } },
    standing: { minute: { limit: 7 }, day: { limit: 60 } },
  })
  await keys.change('ada', { limits: { perDay: 40 } })
  await until(async () => JSON.stringify(await limits()).includes('"limit":40'))
  await keys.change('ada', { limits: null })
  await until(async () => JSON.stringify(await limits()).includes('"limit":6,'))
  t.match((await keys.show('ada')).limits, { perMinute: 6, perDay: 60 })
  said = { id: 'ada', plan: 'pro' }
  t.match(await limits(), { minute: { limit: 300 }, day: { limit: 10_000 } })
  await until(async () => (await keys.show('ada')).limits === undefined)
  const its = { message: /comes with its tokens, from the app: change it there/ }
  for (const changes of [{ plan: 'free' }, { account: 'mine' }]) {
    await t.rejects(keys.change('ada', changes), its)
  }
  await t.rejects(keys.rotate('ada'), its)
})

t.test('a WebSocket stays while its token is known, and ends with it', async (t) => {
  const backend = createServer()
  backend.on('upgrade', (_request, socket) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void (backend.close(), backend.closeAllConnections()))
  const { port } = backend.address() as AddressInfo
  let now = Date.now()
  let isKnown = true
  const { app, statusOf, operations } = await startOwnCallers(t, {
    clock: () => now,
    callers: (token) => (isKnown ? ofToken(token) : undefined),
    more: {
      upstreams: { sockets: { targets: [`http://127.0.0.1:${port}`] } },
      routes: [{ path: '/v1/*', upstream: 'sockets' }],
    },
  })
  const own = await app.listen({ host: '127.0.0.1', port: 0 })
  const open = async (token: string) => {
    const socket = connect(Number(new URL(own).port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.write(
      `GET /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 101 /)
    return socket
  }
  const [ada, bob] = [await open('of-ada'), await open('of-bob')]
  now += 61_000
  // Longer than the time between two looks at all WebSockets.
  await new Promise((resolve) => setTimeout(resolve, 600))
  for (const socket of [ada, bob]) {
    socket.write('echo')
    t.equal(String((await once(socket, 'data'))[0]), 'echo')
  }
  const closed = [once(ada, 'close'), once(bob, 'close')]
  isKnown = false
  t.equal(await statusOf('of-ada'), 401)
  await closed[0]
  t.notOk(bob.destroyed)
  await operations.keys.disable('bob')
  await closed[1]
})

t.test('records that nobody has used for 90 days go where an app knows callers', async (t) => {
  let now = Date.now()
  const config = configOf({ plans, store: { file: ':memory:' }, routes: [], notices: [] })
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  for (const hasOwnCallers of [true, false]) {
    const { front, office, close } = await openWings({
      ...{ config, hasOwnCallers, clock: () => now, log },
    })
    const ada = { id: 'adaadaadaada', name: 'ada', plan: 'free', secrets: [], createdAtMs: now }
    await front.stores.keys.add([{ ...ada, kind: 'app', issuer: 'the app', subject: 'ada' }])
    await front.flushCounts()
    now += 91 * 86_400_000
    office.unusedCallers.beginIfDue()
    await office.close()
    t.equal((await front.stores.keys.get(ada.id)) === undefined, hasOwnCallers)
    await close()
  }
})
