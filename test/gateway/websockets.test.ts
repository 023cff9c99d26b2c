import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'undici'
import { drain } from '../../shared/serve.ts'
import { startEcho } from '../support/echo.ts'
import { plenty } from '../support/first-caller.ts'
import { startGateway } from '../support/gateway.ts'
import { json, raw } from '../support/http.ts'
import { bound } from '../support/promises.ts'
import { startRedis } from '../support/redis.ts'
import { pause } from '../support/traffic.ts'
import { until } from '../support/until.ts'

t.test('WebSockets pass the same stages', async (t) => {
  const upstream = await startEcho(t)
  const gateway = await startGateway(t, { upstream, clock: () => Date.UTC(2026, 10, 20, 12) })
  const { url, key, call } = gateway
  const { headers, token, key: made } = await key({ limits: { perMinute: 4, perDay: 100 } })
  const wsUrl = url.replace('http:', 'ws:')

  t.test('bytes go both ways, as they come', async (t) => {
    const socket = new WebSocket(`${wsUrl}/v1/echo?a=1`, { headers })
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve()
      socket.onerror = ({ error }) => reject(error)
    })
    const heard: unknown[] = []
    socket.onmessage = ({ data }) => void heard.push(data)
    socket.send('hello')
    await until(() => heard.length === 1)
    socket.send('again')
    await until(() => heard.length === 2)
    t.strictSame(heard, ['hello', 'again'])
    const [asked] = upstream.seen
    t.match(asked, {
      url: '/v1/echo?a=1',
      headers: { 'x-caller-id': made.id, authorization: undefined },
    })
    socket.close()
    await until(() => upstream.open.size === 0)
    const { minute } = json(await call('GET', '/v1/quota', undefined, headers))
    t.match(minute, { remaining: 3 }, 'it was one request')
  })

  const shake = (path: string, more = '') =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n` +
    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`

  t.test('an agreement tells how its caller stands; what comes with it is not lost', async (t) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    t.teardown(() => socket.destroy())
    let text = ''
    socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
    const frame = Buffer.from([0x81, 0x82, 1, 2, 3, 4, 0x68 ^ 1, 0x69 ^ 2])
    const ask = shake('/v1/echo', `Authorization: Bearer ${token}\r\n`)
    socket.write(Buffer.concat([Buffer.from(ask), frame]))
    await until(() => text.endsWith('\x81\x02hi'))
    t.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
    t.match(text, /^sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r$/im)
    t.match(text, /^x-ratelimit-limit: 4\r$/im)
    t.match(text, /^x-request-id: \S+\r$/im)
    t.notMatch(text, /^server:|limit: 1\r|content-length|transfer-encoding/im)
    socket.destroy()
    await until(() => upstream.open.size === 0)
  })

  t.test('a refusal is an answer like any other, by the gateway or by the backend', async (t) => {
    const before = upstream.seen.length
    t.match(await raw(url, shake('/v1/echo')), /^HTTP\/1\.1 401 [^]*"missing_api_key"/)
    t.match(
      await raw(url, shake('/%2e%2e/v1/echo', `Authorization: Bearer ${token}\r\n`)),
      /^HTTP\/1\.1 400 /,
      'however its path is spelled',
    )
    t.match(
      await raw(url, shake('/v1/../x', `Authorization: Bearer ${token}\r\n`)),
      /^HTTP\/1\.1 400 /,
    )
    t.equal(upstream.seen.length, before, 'and the backend hears nothing of it')
    const no = await raw(url, shake('/v1/no', `Authorization: Bearer ${token}\r\n`))
    t.match(no, /^HTTP\/1\.1 404 [^]*\r\n\r\nno$/)
    await call('GET', '/v1/x', undefined, headers)
    const over = await raw(url, shake('/v1/echo', `Authorization: Bearer ${token}\r\n`))
    t.match(over, /^HTTP\/1\.1 429 [^]*"rate_limit_exceeded"/)
  })
})

/** A WebSocket of a key, as a bare connection that has been agreed on. */
async function openTunnel(t: Test, url: string, token: string, path = '/v1/echo') {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  return { socket, head: head.toString() }
}

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`a WebSocket doesn’t outlive its key: ${kind}`, async (t) => {
    const upstream = await startEcho(t)
    let now = Date.now()
    const store = kind === 'redis' ? { store: `redis: "${(await startRedis(t)).url}"` } : {}
    const gateway = await startGateway(t, { ...store, upstream, clock: () => now })
    const { url, key, desk, stores } = gateway
    const kept = await openTunnel(t, url, (await key(plenty)).token)
    t.match(kept.head, /^HTTP\/1\.1 101 /)
    const ways: Record<string, (id: string) => Promise<unknown>> = {
      revoked: (id) => desk.edit(id, desk.revoking()),
      disabled: (id) => desk.edit(id, desk.disabling(true)),
      expired: () => Promise.resolve((now += 3_600_000)),
      banned: (id) => stores.quota.ban(`key:${id}`, id, now + 60_000),
      'rotated at once': (id) => desk.rotate(id, 0),
    }
    const tunnels = await Promise.all(
      Object.entries(ways).map(async ([way, end]) => {
        const expiring = way === 'expired' ? { expiresAtMs: now + 1_800_000 } : {}
        const made = await key({ ...plenty, ...expiring })
        const { socket } = await openTunnel(t, url, made.token)
        return { way, socket, end: () => end(made.key.id) }
      }),
    )
    // Two checks of all tunnels.
    await pause(600)
    for (const { way, socket, end } of tunnels) {
      t.equal(socket.destroyed, false, `${way}: it is open`)
      const began = performance.now()
      await end()
      await until(() => socket.destroyed, 5_000)
      const took = performance.now() - began
      t.ok(took < bound(1_000), `${way}: ended after ${took.toFixed(0)} ms`)
    }
    t.equal(kept.socket.destroyed, false, 'another key’s goes on')
    kept.socket.destroy()
    await until(() => upstream.open.size === 0)
  })
}

t.test('WebSockets take their caller’s share of the room, and no more', async (t) => {
  const upstream = await startEcho(t)
  const { url, key } = await startGateway(t, { upstream, upstreamMore: 'maxInFlight: 10' })
  const [greedy, other] = [await key(plenty), await key(plenty)]
  const tunnels = []
  for (let i = 0; i < 12; i++) tunnels.push(await openTunnel(t, url, greedy.token))
  const open = tunnels.filter(({ head }) => head.startsWith('HTTP/1.1 101 '))
  t.equal(open.length, 5)
  t.match(tunnels.at(-1)?.head, /^HTTP\/1\.1 429 [^]*"too_many_at_once"/)
  t.match((await openTunnel(t, url, other.token)).head, /^HTTP\/1\.1 101 /)
  open.forEach(({ socket }) => socket.destroy())
  await until(() => upstream.open.size === 1)
  t.match((await openTunnel(t, url, greedy.token)).head, /^HTTP\/1\.1 101 /, 'room comes back')
})

t.test(
  'a WebSocket costs its estimate, and one that is refused what its answer tells',
  async (t) => {
    const upstream = await startEcho(t)
    const gateway = await startGateway(t, {
      upstream,
      routes: '[ { path: /v1/*, upstream: animals, cost: { estimate: 4, from: answer } } ]',
    })
    const { url, key, app, call } = gateway
    const { headers, token } = await key()
    const isUsed = (points: number) =>
      until(async () => {
        const { day } = json(await call('GET', '/v1/quota', undefined, headers))
        const { limit, remaining } = day as { limit: number; remaining: number }
        return limit - remaining === points
      })
    const { socket, head } = await openTunnel(t, url, token)
    t.match(head, /^HTTP\/1\.1 101 /)
    t.notMatch(head, /x-gateway-cost/i)
    await isUsed(4)
    socket.destroy()
    await until(() => upstream.open.size === 0)
    t.match((await openTunnel(t, url, token, '/v1/no')).head, /^HTTP\/1\.1 404 /)
    await isUsed(4 + 9)
    t.strictSame([...app.front.meters.answerCosts], [['told', '', 1]])
  },
)

t.test('a server that stops waits for WebSockets, but not for ever', async (t) => {
  const upstream = await startEcho(t)
  const { url, key, app } = await startGateway(t, { upstream })
  const { headers } = await key()
  const socket = new WebSocket(`${url.replace('http:', 'ws:')}/v1/echo`, { headers })
  await new Promise<void>((resolve) => (socket.onopen = () => resolve()))
  const closed = new Promise<void>((resolve) => (socket.onclose = () => resolve()))
  const started = performance.now()
  await drain(app, 50, 300)
  const waited = performance.now() - started
  await closed
  t.ok(waited > 250 && waited < bound(3_000), `${Math.round(waited)} ms`)
})
