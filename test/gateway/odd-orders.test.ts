import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { drain } from '../../shared/serve.ts'
import { startGateway, startRawUpstream, startUpstream } from '../support/gateway.ts'
import { json, raw } from '../support/http.ts'
import { bound } from '../support/promises.ts'
import { until } from '../support/until.ts'

// Events in an unexpected order. A failure here would end the process.

const plenty = { limits: { perMinute: 100_000, perDay: 1_000_000 } }
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
const switching =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'

function open(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname).on('error', () => undefined)
}

t.test('what comes behind a request is answered behind it, whatever it is', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    setTimeout(() => response.end('slow'), 100)
  })
  const { url, key } = await startGateway(t, { upstream })
  const { token } = await key(plenty)
  const first = `GET /v1/slow HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
  for (const [behind, status] of [
    [`GET /v1/ws HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`, 401],
    ['CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['garbage\r\n\r\n', 400],
    ['POST /v1/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nbad\r\n', 401],
  ] as const) {
    const answers = (await raw(url, first + behind)).match(/HTTP\/1\.1 \d{3}/g)
    t.strictSame(answers, ['HTTP/1.1 200', `HTTP/1.1 ${status}`], behind.slice(0, 20))
    const both = (await raw(url, `GET /v1/x HTTP/1.1\r\nHost: x\r\n\r\n${behind}`)).match(
      /HTTP\/1\.1 \d{3}/g,
    )
    t.strictSame(both, ['HTTP/1.1 401', `HTTP/1.1 ${status}`])
  }
})

t.test('an answer that is refused while it streams is let go of', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 403 No\r\nX-Gateway-Signature: refused\r\nContent-Length: 20\r\n\r\n')
      setTimeout(() => socket.write('x'.repeat(20)), 50)
    })
  })
  const { call, key } = await startGateway(t, { upstream, secret: 'x' })
  const { headers } = await key()
  t.equal((await call('GET', '/v1/x', undefined, headers)).status, 502)
  await new Promise((go) => setTimeout(go, 100))
  t.equal((await call('GET', '/v1/x', undefined, headers)).status, 502)
})

t.test('CONNECT keeps no connection, and no server from stopping', async (t) => {
  const { url, app } = await startGateway(t)
  const staying = open(url)
  staying.write('CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(staying, 'data')
  staying.write('x')
  const started = performance.now()
  await drain(app, 50, 300)
  t.ok(performance.now() - started < bound(4_000))
  await until(() => staying.destroyed || staying.readableEnded, 4_000)
})

t.test('a caller that is gone when its WebSocket is agreed on leaves nothing open', async (t) => {
  const backends = new Set<Socket>()
  let caller: Socket | undefined
  const upstream = await startRawUpstream(t, (socket) => {
    socket.on('data', () => {
      backends.add(socket)
      socket.once('close', () => backends.delete(socket))
      caller?.resetAndDestroy()
      socket.write(switching)
    })
  })
  const { url, key } = await startGateway(t, { upstream })
  const { token } = await key(plenty)
  for (let i = 0; i < 20; i++) {
    caller = open(url)
    caller.write(
      `GET /v1/ws HTTP/1.1\r\nHost: x\r\n${upgrade}Authorization: Bearer ${token}\r\n\r\n`,
    )
    await once(caller, 'close')
  }
  await until(() => backends.size === 0, 5_000)
})

t.test('a WebSocket that is agreed on after the stop is cut as well', async (t) => {
  let agree: () => void = () => undefined
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () => (agree = () => socket.write(switching)))
  })
  const { url, key, app } = await startGateway(t, { upstream })
  const { token } = await key()
  const caller = open(url)
  caller.write(`GET /v1/ws HTTP/1.1\r\nHost: x\r\n${upgrade}Authorization: Bearer ${token}\r\n\r\n`)
  await until(() => upstream.connections() === 1)
  setTimeout(() => agree(), 500)
  const started = performance.now()
  await drain(app, 50, 200)
  t.ok(performance.now() - started < bound(3_000))
  caller.destroy()
})

t.test(
  'a caller that is slow after its answer has begun is nobody’s fault but its own',
  async (t) => {
    const upstream = await startUpstream(t, (request, response) => {
      response.write('begun')
      if (request.method === 'GET') response.end()
    })
    const { url, key, call } = await startGateway(t, {
      upstream,
      upstreamMore: 'timeout: { request: 200ms }, health: { unhealthyAfter: 1 }',
    })
    const { token, headers } = await key(plenty)
    const head = `POST /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 100000\r\n\r\nx`
    const answer = await raw(url, head, 3_000)
    t.match(answer, /^HTTP\/1\.1 200 [^]*begun/)
    t.equal(answer.match(/HTTP\/1\.1/g)?.length, 1, 'one answer')
    t.equal((await call('GET', '/v1/x', undefined, headers)).status, 200, 'the target is still in')
    const { day } = json(await call('GET', '/v1/quota', undefined, headers)) as {
      day: { remaining: number }
    }
    t.equal(day.remaining, 1_000_000 - 2, 'and the request has cost what it costs')
  },
)

t.test('a caller that hangs up while its key is looked for is not asked for', async (t) => {
  const { url, key, stores, server, upstream } = await startGateway(t)
  const { token } = await key()
  const find = stores.keys.find.bind(stores.keys)
  let [hangUp, hasLeft] = [(): void => undefined, Promise.resolve() as Promise<unknown>]
  server.on('connection', (socket) => {
    hasLeft = once(socket, 'close')
  })
  stores.keys.find = async (hash) => {
    hangUp()
    await hasLeft
    return find(hash)
  }
  for (const line of ['GET /v1/x', 'POST /v1/x']) {
    const caller = open(url)
    const more = line.startsWith('POST') ? 'Content-Length: 5\r\n' : ''
    hangUp = () => caller.resetAndDestroy()
    caller.write(`${line} HTTP/1.1\r\nHost: x\r\n${more}Authorization: Bearer ${token}\r\n\r\n`)
    await once(caller, 'close')
  }
  await new Promise((go) => setTimeout(go, 200))
  t.equal(upstream.seen.length, 0)
})

t.test('a body that never comes has one answer, and the connection ends', async (t) => {
  const { url, key, upstream } = await startGateway(t, {
    upstreamMore: 'timeout: { request: 1s }',
  })
  const { headers } = await key()
  for (const [authorization, status] of [
    [`Authorization: ${headers.authorization}\r\n`, 408],
    ['', 401],
  ] as const) {
    const head = `POST /v1/x HTTP/1.1\r\nHost: x\r\n${authorization}Content-Length: 10\r\n\r\n`
    const answer = await raw(url, head, 10_000)
    t.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
    t.equal(answer.split('HTTP/1.1 ').length, 2, `one answer, though nothing follows: ${status}`)
  }
  t.ok(upstream.seen.length <= 1)
})

t.test('where one stands is asked with GET, and without a body', async (t) => {
  const { call, key, upstream } = await startGateway(t)
  const { headers } = await key()
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
    const body = method === 'QUERY' ? '{}' : undefined
    const answer = await call(method, '/v1/quota', body, headers)
    t.match(answer, { status: 405, headers: { allow: 'GET, HEAD' } }, method)
    t.equal(answer.headers['x-ratelimit-remaining'], '60', 'it costs nothing')
  }
  t.match(await call('GET', '/v1/quota', '{}', headers), { status: 400 })
  t.equal(upstream.seen.length, 0)
})
