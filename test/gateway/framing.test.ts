import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { startGateway, startUpstream, type GatewayOptions } from '../support/gateway.ts'
import { raw } from '../support/http.ts'
import { bound } from '../support/promises.ts'
import { pause } from '../support/traffic.ts'
import { until } from '../support/until.ts'

/** A gateway that no stranger uses up, and the line with which a caller sends a key. */
async function startFor(t: Test, options: GatewayOptions = {}) {
  const gateway = await startGateway(t, {
    more: 'strangers: { perMinute: 1000, perDay: 1000 }',
    ...options,
  })
  const { token } = await gateway.key({ limits: { perMinute: 100_000, perDay: 1_000_000 } })
  return { ...gateway, auth: `Authorization: Bearer ${token}\r\n` }
}

/** Checks that a refusal is ours, complete, sent once, and the last of its connection. */
function check(t: Test, name: string, answer: string, status: number, code: string): void {
  const end = answer.indexOf('\r\n\r\n')
  const head = answer.slice(0, end)
  t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), name)
  t.match(head, /^connection: close\r?$/im, `${name}: the connection ends`)
  for (const header of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    const found = head.match(new RegExp(`^${header}: \\d+\\r?$`, 'gim')) ?? []
    t.equal(found.length, 1, `${name}: ${header}`)
  }
  t.match(head, /^x-request-id: \S+\r?$/im, name)
  const body: unknown = JSON.parse(answer.slice(end + 4))
  t.match(body, { code, message: String, status }, name)
}

/** Requests that are refused, by the status and the code of the answer: the bytes of each by its name. */
function refusedRequests(auth: string): Record<string, Record<string, string>> {
  const host = 'Host: x\r\n'
  const get = `GET /v1/x HTTP/1.1\r\n${host}${auth}`
  const post = `POST /v1/x HTTP/1.1\r\n${host}${auth}`
  const chunks = '5\r\nhello\r\n0\r\n\r\n'
  const encoded = (...encodings: string[]) =>
    Object.fromEntries(
      encodings.map((encoding) => [
        `Transfer-Encoding: ${encoding}`,
        `${post}Transfer-Encoding: ${encoding}\r\n\r\n${chunks}`,
      ]),
    )
  return {
    '400 invalid_request': {
      'no Host': `GET /v1/x HTTP/1.1\r\n${auth}\r\n`,
      'two Hosts': `GET /v1/x HTTP/1.1\r\n${host}${host}${auth}\r\n`,
      'two in one': `GET /v1/x HTTP/1.1\r\nHost: a, b\r\n${auth}\r\n`,
      'a Host with a path': `GET /v1/x HTTP/1.1\r\nHost: a/b@c#d\r\n${auth}\r\n`,
      'an empty Host': `GET /v1/x HTTP/1.1\r\nHost:\r\n${auth}\r\n`,
      'a Host with a user': `GET /v1/x HTTP/1.1\r\nHost: u@a\r\n${auth}\r\n`,
      'two Hosts in HTTP/1.0': `GET /v1/x HTTP/1.0\r\n${host}${host}${auth}\r\n`,
      ...encoded('chunked, chunked', 'chunked, identity'),
      'Transfer-Encoding in HTTP/1.0': `POST /v1/x HTTP/1.0\r\n${host}${auth}Transfer-Encoding: chunked\r\n\r\n${chunks}`,
      'both lengths': `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
      'two lengths': `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
      'a length in two': `${post}Content-Length: 5, 5\r\n\r\nhello`,
      'a length below none': `${post}Content-Length: -1\r\n\r\n`,
      'a length with a sign': `${post}Content-Length: +5\r\n\r\nhello`,
      'a bad chunk': `${post}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`,
      'a space before the colon': `GET /v1/x HTTP/1.1\r\nHost : x\r\n${auth}\r\n`,
      'a folded header': `${get}X: a\r\n b\r\n\r\n`,
      'a header without a name': `${get}: x\r\n\r\n`,
      'a bare CR': `${get}X: a\rb\r\n\r\n`,
      'a NUL': `${get}X: a\0b\r\n\r\n`,
      'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      TLS: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'a target of another server': `GET http://evil/v1/x HTTP/1.1\r\n${host}${auth}Connection: close\r\n\r\n`,
      'OPTIONS *': `OPTIONS * HTTP/1.1\r\n${host}${auth}Connection: close\r\n\r\n`,
    },
    '401 invalid_api_key': { 'two keys': `${get}${auth}Connection: close\r\n\r\n` },
    '405 method_not_allowed': {
      CONNECT: `CONNECT x:80 HTTP/1.1\r\n${host}${auth}\r\n`,
      TRACE: `TRACE /v1/x HTTP/1.1\r\n${host}${auth}\r\n`,
      'TRACE in HTTP/1.0': 'TRACE /v1/x HTTP/1.0\r\n\r\n',
    },
    '414 uri_too_long': {
      'a long target': `GET /v1/${'x'.repeat(8_200)} HTTP/1.1\r\n${host}${auth}\r\n`,
      'a long query': `GET /v1/x?${'x'.repeat(8_200)} HTTP/1.1\r\n${host}${auth}\r\n`,
    },
    '431 headers_too_large': {
      'a Connection of many names': `${get}Connection: close${', a'.repeat(340)}\r\n\r\n`,
      'more than a hundred headers': `GET /v1/x HTTP/1.1\r\n${host}${'X: y\r\n'.repeat(99)}${auth}\r\n`,
      'a key behind thousands of headers': `GET /v1/x HTTP/1.1\r\n${host}${'a:b\r\n'.repeat(2_100)}${auth}\r\n`,
      'more than 16 KiB of headers': `GET /v1/x HTTP/1.1\r\n${host}X: ${'y'.repeat(16_384)}\r\n\r\n`,
    },
    '501 not_implemented': encoded('identity', 'identity, chunked', 'gzip, chunked', 'xchunked'),
    '505 http_version_not_supported': {
      'HTTP/0.9': 'GET /v1/x\r\n\r\n',
      'HTTP/2.0': `GET /v1/x HTTP/2.0\r\n${host}${auth}\r\n`,
      'HTTP/1.2': `GET /v1/x HTTP/1.2\r\n${host}${auth}\r\n`,
    },
  }
}

t.test(
  'what could be taken for two requests is refused, and nobody behind hears of it',
  async (t) => {
    const { url, upstream, auth } = await startFor(t)
    const host = 'Host: x\r\n'
    for (const [why, requests] of Object.entries(refusedRequests(auth))) {
      const [status, code = ''] = why.split(' ')
      for (const [name, bytes] of Object.entries(requests)) {
        check(t, name, await raw(url, bytes, 3_000), Number(status), code)
      }
    }
    t.equal(upstream.seen.length, 0)
    const methods = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    for (const method of methods) {
      t.match(await raw(url, `${method} /v1/x HTTP/1.1\r\n${host}${auth}\r\n`), /^HTTP\/1\.1 400/)
    }
    const headers = ['__proto__: x', 'constructor: x', 'hasOwnProperty: 1'].join('\r\n')
    t.match(
      await raw(url, `GET /v1/x HTTP/1.1\r\n${host}${auth}Connection: close\r\n${headers}\r\n\r\n`),
      /^HTTP\/1\.1 200/,
    )
    for (const name of ['x.example', 'x_y-1.example:8080', '[::1]:80', '127.0.0.1', 'X.Example.']) {
      const ask = `GET /v1/x HTTP/1.1\r\nHost: ${name}\r\n${auth}Connection: close\r\n\r\n`
      t.match(await raw(url, ask), /^HTTP\/1\.1 200/, name)
    }
    t.match(
      await raw(url, `GET /v1/x HTTP/1.0\r\n${auth}\r\n`),
      /^HTTP\/1\.1 200/,
      'HTTP/1.0 needs no Host',
    )
  },
)

t.test('what comes before any stage counts against the address as well', async (t) => {
  const { url } = await startGateway(t, { more: 'strangers: { perMinute: 1000, perDay: 3 }' })
  const asks = [
    'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n',
    'nonsense\r\n\r\n',
    'GET /v1/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  ]
  for (const ask of asks) t.match(await raw(url, ask), /^HTTP\/1\.1 40[05]/)
  for (const ask of asks) {
    t.match(await raw(url, ask), /^HTTP\/1\.1 429 [^]*"too_many_failed_attempts"/)
  }
})

const hasIPv6 = Object.values(networkInterfaces()).some((each) =>
  each?.some(({ address }) => address === '::1'),
)

t.test(
  'what can’t be read is counted by the address that all else is counted by',
  { skip: !hasIPv6 && 'this machine has no IPv6' },
  async (t) => {
    const { app } = await startGateway(t, {
      more: 'strangers: { perMinute: 1000, perDay: 3 }\ntrustedProxies: [127.0.0.9]',
    })
    // A listener for both: who comes by IPv4 has an address such as ::ffff:127.0.0.1.
    const second = createServer((socket) => app.server.emit('connection', socket))
    second.listen(0, '::')
    await once(second, 'listening')
    t.teardown(() => second.close())
    const { port } = second.address() as AddressInfo
    const ask = async (address: string, text: string) =>
      Number((await raw(`http://${address}:${port}`, text)).slice(9, 12))
    const plain = 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
    for (let i = 0; i < 3; i++) t.equal(await ask('127.0.0.1', 'nonsense\r\n\r\n'), 400)
    t.equal(await ask('127.0.0.1', 'nonsense\r\n\r\n'), 429)
    t.equal(await ask('127.0.0.1', `${plain}\r\n`), 429, 'one allowance for all that it does')
    t.equal(await ask('[::1]', 'nonsense\r\n\r\n'), 400, 'and another caller has its own')
    t.equal(await ask('[::1]', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n'), 405)
  },
)

t.test('a malformed URL counts against the caller, not against its proxy', async (t) => {
  const { url } = await startGateway(t, {
    more: 'strangers: { perMinute: 1000, perDay: 2 }\ntrustedProxies: [127.0.0.0/8]',
  })
  const ask = async (path: string, forwarded: string) => {
    const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`
    return Number((await raw(url, `${head}${forwarded}\r\n`)).slice(9, 12))
  }
  const from = (address: string) => `X-Forwarded-For: ${address}\r\n`
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push(await ask('/v1/%zz', from('203.0.113.9')))
  t.strictSame(statuses, [400, 400, 429])
  t.equal(await ask('/v1/pets', from('203.0.113.9')), 429, 'with all else that it does')
  t.equal(await ask('/v1/%zz', from('203.0.113.10')), 400, 'another caller is not concerned')
  t.equal(await ask('/v1/%zz', ''), 400, 'nor is the proxy')
})

t.test('an Upgrade to something else than a WebSocket is ignored', async (t) => {
  const { url, upstream, auth } = await startFor(t)
  const upgrade =
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n'
  const asks = [
    `GET /v1/a HTTP/1.1\r\nHost: x\r\n${auth}${upgrade}\r\n`,
    `POST /v1/b HTTP/1.1\r\nHost: x\r\n${auth}${upgrade}Content-Length: 5\r\n\r\nhello`,
    `POST /v1/c HTTP/1.1\r\nHost: x\r\n${auth}Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n{}`,
  ]
  for (const ask of asks) {
    // Node loses what comes behind such a request, so nothing may.
    const behind = `GET /v1/behind HTTP/1.1\r\nHost: x\r\n${auth}\r\n`
    t.match(await raw(url, ask + behind), /^HTTP\/1\.1 200 [^]*connection: close/i)
  }
  t.strictSame(
    upstream.seen.map(({ url, headers }) => [url, headers.upgrade, headers['http2-settings']]),
    [
      ['/v1/a', undefined, undefined],
      ['/v1/b', undefined, undefined],
      ['/v1/c', undefined, undefined],
    ],
  )
})

t.test('who is slow is not waited for', async (t) => {
  const { url, auth, server } = await startFor(t)
  t.equal(server.headersTimeout, 5_000, 'headers are waited for five seconds')
  server.headersTimeout = 1_000
  const timed = async (bytes: string) => {
    const started = performance.now()
    const answer = await raw(url, bytes, 12_000)
    return { answer, seconds: (performance.now() - started) / 1_000 }
  }
  const [headers, silence] = await Promise.all([
    timed('GET /v1/x HTTP/1.1\r\nHost: x\r\n'),
    timed(''),
  ])
  check(t, 'half of the headers', headers.answer, 408, 'request_timeout')
  for (const { seconds } of [headers, silence]) {
    t.ok(seconds >= 1 && seconds < bound(3_500) / 1_000, `${seconds.toFixed(1)} s for a limit of 1`)
  }
  t.equal(server.keepAliveTimeout, 60_000, 'idle connections are kept for a minute')
  server.keepAliveTimeout = 500
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.write(`GET /v1/x HTTP/1.1\r\nHost: x\r\n${auth}\r\n`)
  const started = performance.now()
  socket.resume()
  await once(socket, 'close')
  t.ok(performance.now() - started < bound(4_000), 'and not longer')
})

t.test('a caller may take its answer slowly, but not leave it', async (t) => {
  const piece = Buffer.alloc(64 * 1_024, 'x')
  const upstream = await startUpstream(t, (_request, response) => {
    response.on('error', () => undefined)
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
      response.once('drain', more)
    }
    more()
  })
  const { url, auth, server } = await startFor(t, { upstream })
  server.timeout = 500
  const { hostname, port } = new URL(url)
  const ask = (): Socket => {
    const socket = connect(Number(port), hostname)
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(`GET /v1/x HTTP/1.1\r\nHost: x\r\n${auth}\r\n`)
    return socket
  }
  const connections = promisify(server.getConnections.bind(server))
  ask()
  await until(async () => (await connections()) === 1)
  await until(async () => (await connections()) === 0)
  server.timeout = 2_000
  const slow = ask()
  await until(async () => (await connections()) === 1)
  const [began, taken] = [performance.now(), slow.bytesRead]
  while (performance.now() - began < 3_500) {
    await pause(250)
    slow.resume()
    // The system tells the other end of room only when there is much of it.
    for (let i = 0; i < 20; i++) await once(slow, 'data')
    slow.pause()
  }
  t.ok(slow.bytesRead > taken, 'some of it came')
  t.equal(await connections(), 1, 'and it still comes')
})
