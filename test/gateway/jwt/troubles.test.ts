import { hash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as pass } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { hashOf } from '../../../gateway/front/keys/token.ts'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import {
  configFor,
  startGateway,
  startRawUpstream,
  type GatewayOptions,
} from '../../support/gateway.ts'
import {
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
const tokenFor = (sub: string, claims = {}): string => tokenOf(key, { claims: { sub, ...claims } })

async function start(t: Test, options: Partial<GatewayOptions> = {}, more = '') {
  const server = await startKeyServer(t, [key])
  const time = { ms: Date.now() }
  const { log, output } = logged()
  const gateway = await startGateway(t, {
    ...{ log, clock: () => time.ms, more: `${jwtSection(server.url)}\n${more}` },
    ...options,
  })
  const statusOf = async (token: string): Promise<number> =>
    (await gateway.call('GET', '/v1/x', undefined, bearer(token))).status
  const reasons = (): unknown[] => said(output(), '"reason"').map(({ reason }) => reason)
  return { ...gateway, server, time, output, statusOf, reasons }
}

t.test(
  'while the store is out of reach known subjects go on, with new tokens too; others get 503',
  async (t) => {
    const redis = await startRedis(t)
    const wire = await startFaultProxy(t, Number(new URL(redis.url).port))
    const store = `redis: "redis://127.0.0.1:${wire.port}", timeout: 200ms, whenUnreachable: allow`
    const server = await startKeyServer(t, [key])
    const more = jwtSection(server.url, 'plan: free, account: tenant')
    const { statusOf, reasons } = await start(t, { store, more })
    t.equal(await statusOf(tokenFor('known')), 200)
    wire.hang(true)
    t.equal(await statusOf(tokenFor('known')), 200)
    t.equal(await statusOf(tokenFor('known', { jti: 2 })), 200)
    t.equal(await statusOf(tokenFor('known', { tenant: 'other' })), 200)
    t.equal(await statusOf(tokenFor('never-seen')), 503)
    t.equal(await statusOf(tokenFor('known', { aud: 'other' })), 401)
    await until(() => reasons().includes('store'))
    wire.hang(false)
    await until(async () => (await statusOf(tokenFor('never-seen'))) === 200)
  },
)

t.test(
  'a gateway that starts while the store is away counts callers when it is back',
  async (t) => {
    const redis = await startRedis(t)
    const server = await startKeyServer(t, [key])
    const more = jwtSection(server.url, 'plan: free, maxCallers: 50')
    const { stores } = await startGateway(t, { store: `redis: "${redis.url}"` })
    const record = { name: 'x', plan: 'free', createdAtMs: 1, kind: 'jwt', issuer: issuerName }
    await stores.keys.add(
      Array.from({ length: 50 }, (_, i) => ({
        ...{ ...record, id: `caller${i}`, subject: `s${i}`, secrets: [] },
      })),
    )
    const wire = await startFaultProxy(t, Number(new URL(redis.url).port))
    wire.hang(true)
    const store = `redis: "redis://127.0.0.1:${wire.port}", timeout: 200ms`
    const { app, statusOf, time } = await start(t, { store, more })
    t.equal(await statusOf(tokenFor('early')), 503)
    wire.hang(false)
    await until(() => app.front.directory.isMet)
    time.ms += 10_000
    await until(async () => (await statusOf(tokenFor('first'))) === 200)
    await until(() => (app.front.issuers.states[0]?.callers ?? 0) >= 50)
    t.equal(await statusOf(tokenFor('second')), 503)
    t.equal(await statusOf(tokenFor('first', { jti: 2 })), 200)
  },
)

t.test(
  'from an address that is over its limit, a valid token gets in, and a bad one is 429',
  async (t) => {
    const { statusOf } = await start(t, {}, 'strangers: { perMinute: 2, perDay: 10 }')
    const bad = tokenFor('alice', { aud: 'other' })
    for (const status of [401, 401, 429, 429]) t.equal(await statusOf(bad), status)
    t.equal(await statusOf('no-token-of-ours'), 429)
    t.equal(await statusOf(tokenFor('alice')), 200)
  },
)

t.test('a key of the house whose token has the form goes before', async (t) => {
  const { statusOf, stores, upstream } = await start(t)
  const [long, short] = [tokenFor('alice'), 'eyJhbGciOiJIUzI1NiJ9.e30.x']
  const add = (id: string, token: string) =>
    stores.keys.add([
      { id, name: id, plan: 'pro', createdAtMs: 1, secrets: [{ hash: hashOf(token) }] },
    ])
  await add('one', long)
  await add('two', short)
  await until(async () => (await statusOf(short)) === 200)
  t.equal(await statusOf(long), 200)
  t.equal(await statusOf(long), 200)
  const ids = upstream.seen.map(({ headers }) => headers['x-caller-id'])
  t.strictSame(ids, ['two', 'one', 'one'])
})

t.test('without jwt, tokens are keys or unknown, and 512 characters long at most', async (t) => {
  const { statusOf, reasons } = await start(t, { more: '' })
  t.equal(await statusOf(tokenFor('alice')), 401)
  t.equal(await statusOf(tokenFor('alice', { x: 'x'.repeat(500) })), 401)
  await until(() => reasons().length === 2)
  t.strictSame(reasons(), ['unknown_token', 'malformed_token'])
})

t.test(
  'a WebSocket ends with its token, with its record, and with what vouches for it',
  async (t) => {
    const upstream = await startRawUpstream(t, (socket: Socket) => {
      socket.on('data', (bytes: Buffer) => {
        const [, key = ''] = /sec-websocket-key: (\S+)/i.exec(bytes.toString()) ?? []
        const accept = hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64')
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
            `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
        )
      })
    })
    const server = await startKeyServer(t, [key])
    const gateway = await start(t, { upstream, more: jwtSection(server.url) })
    const { time, desk, app, stores } = gateway
    const { port } = new URL(gateway.url)
    const open = async (token: string): Promise<{ isOpen: boolean }> => {
      const state = { isOpen: false }
      const socket = connect(Number(port), '127.0.0.1')
      t.teardown(() => socket.destroy())
      socket.on('error', () => undefined)
      socket.on('data', (bytes: Buffer) => (state.isOpen ||= bytes.includes(' 101 ')))
      socket.on('close', () => (state.isOpen = false))
      socket.write(
        `GET /v1/x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
          `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      )
      await until(() => state.isOpen)
      return state
    }
    const exp = Math.floor(time.ms / 1_000) + 100
    const ending = await open(tokenFor('ending', { exp }))
    const disabled = await open(tokenFor('disabled'))
    const staying = await open(tokenFor('staying'))
    const records: string[] = []
    for await (const { id, name } of stores.keys.list()) if (name === 'disabled') records.push(id)
    await desk.edit(records[0] ?? '', desk.disabling(true))
    await until(() => !disabled.isOpen)
    t.ok(ending.isOpen)
    time.ms = (exp + 60) * 1_000
    await until(() => !ending.isOpen)
    t.ok(staying.isOpen)
    const reload = (more: string): Promise<void> =>
      app.change(parseConfig(configFor(upstream.url, 'file: x.db', { more }), {}, 'x.yaml'))
    await reload(jwtSection(server.url, 'plan: pro'))
    // Longer than from one look at open tunnels to the next.
    await pass(600)
    t.ok(staying.isOpen, 'another plan is for requests')
    await reload(jwtSection(server.url, 'plan: pro, algorithms: [ RS256 ]'))
    await until(() => !staying.isOpen)
  },
)
