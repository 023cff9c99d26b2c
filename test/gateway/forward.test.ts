import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Meters } from '../../gateway/records/meters.ts'
import { TargetAttempt } from '../../gateway/forwarding/target-attempt.ts'
import { Upstream } from '../../gateway/forwarding/upstream.ts'
import { json, raw, type Answer } from '../support/http.ts'
import {
  startGateway,
  startRawUpstream,
  startUpstream,
  type GatewayOptions,
} from '../support/gateway.ts'
import { bound } from '../support/promises.ts'
import { until } from '../support/until.ts'
import { pause } from '../support/traffic.ts'

const plenty = { limits: { perMinute: 100_000, perDay: 1_000_000 } }

/** A gateway, and the lines that a caller with a key begins each raw request with. */
async function startFor(t: Test, options: GatewayOptions = {}) {
  const gateway = await startGateway(t, options)
  const { token, headers } = await gateway.key(plenty)
  const head = (line: string, more = '') =>
    `${line} HTTP/1.1\r\nHost: x.example\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`
  const ask = (line: string, more = '', body = '') => raw(gateway.url, head(line, more) + body)
  const get = (path: string) => gateway.call('GET', path, undefined, headers)
  const dayLeft = async (): Promise<unknown> => {
    const { day } = json(await get('/v1/quota')) as { day: { remaining: number } }
    return day.remaining
  }
  return { ...gateway, token, headers, head, ask, get, dayLeft }
}

/** Names and values of what an upstream was sent, in small letters. */
function sentTo({ rawHeaders }: IncomingMessage): [string, string][] {
  const pairs: [string, string][] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    pairs.push([rawHeaders[i]?.toLowerCase() ?? '', rawHeaders[i + 1] ?? ''])
  }
  return pairs
}

t.test('a backend sees of a caller what it should, and no more', async (t) => {
  const { upstream, ask, url, token } = await startFor(t)
  const answer = await ask(
    'POST /v1/pets?a=%70//..&b=1',
    [
      'Cookie: a=b',
      'Proxy-Authorization: x',
      'Proxy: http://evil',
      'Connection: X-Hop, close',
      'X-Hop: 1',
      'TE: trailers',
      'Keep-Alive: timeout=5',
      'Upgrade: h2c',
      'HTTP2-Settings: x',
      'Forwarded: for=1.2.3.4',
      'X-Forwarded-For: 1.2.3.4',
      'x_forwarded_for: 1.2.3.4',
      'X_Forwarded-Host: evil',
      'X-Forwarded-Port: 1',
      'X-Real-IP: 1.2.3.4',
      'True-Client-IP: 1.2.3.4',
      'X-Original-URL: /admin',
      'X-Rewrite-URL: /admin',
      'X-HTTP-Method-Override: DELETE',
      'X-Caller-Id: boss',
      'x_caller_plan: enterprise',
      'X-GATEWAY-Signature: t=1,v1=2',
      'X_Gateway_Signature: t=1,v1=2',
      'X-Request-Id: mine-1',
      'Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'X-Custom: one',
      'X-Custom: two',
      'Accept-Encoding: br',
      'Content-Type: application/json',
      'Content-Length: 2',
      '',
    ].join('\r\n'),
    '{}',
  )
  t.match(answer, /^HTTP\/1\.1 200/)
  const { port } = new URL(upstream.url)
  const [request] = upstream.seen as [IncomingMessage]
  const [, id] = sentTo(request).find(([name]) => name === 'x-caller-id') ?? []
  t.ok(token.includes(id ?? 'nothing'), 'the caller by its key’s id')
  t.equal(request.url, '/v1/pets?a=%70//..&b=1')
  t.strictSame(
    sentTo(request)
      .filter(([name]) => name !== 'x-caller-id')
      .sort(),
    [
      ['accept-encoding', 'br'],
      ['connection', 'keep-alive'],
      ['content-length', '2'],
      ['content-type', 'application/json'],
      ['host', `127.0.0.1:${port}`],
      ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
      ['x-caller-plan', 'free'],
      ['x-custom', 'one'],
      ['x-custom', 'two'],
      ['x-forwarded-for', '127.0.0.1'],
      ['x-forwarded-host', 'x.example'],
      ['x-forwarded-proto', 'http'],
      ['x-request-id', 'mine-1'],
    ],
  )
  await raw(
    url,
    `GET /v1/x HTTP/1.1\r\nHost: x\r\nConnection: X-Caller-Id, X-Request-Id, Host, close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
  const after = new Map(sentTo(upstream.seen[1] as IncomingMessage))
  t.ok(
    after.get('x-caller-id') && after.get('x-request-id'),
    'Connection takes nothing of ours away',
  )
})

t.test('no spelling of a name tells a backend what only the gateway may', async (t) => {
  const { upstream, ask } = await startFor(t)
  const names = [
    ...[
      'X-Caller-Id',
      'X-Caller-Plan',
      'X-Gateway-Signature',
      'X-Forwarded-For',
      'X-Forwarded-User',
    ],
    ...[
      'Authorization',
      'Cookie',
      'Proxy',
      'X-Request-Id',
      'Forwarded',
      'Forwarded-For',
      'Client-IP',
    ],
    ...['Remote-User', 'Remote-Groups', 'X-Remote-User', 'X-Remote-Addr', 'X-WebAuth-User'],
    ...[
      'X-Envoy-External-Address',
      'X-Envoy-Original-Path',
      'X-Azure-ClientIP',
      'X-Azure-SocketIP',
    ],
    ...['X-Original-URL', 'X-Original-URI', 'X-Original-Forwarded-For', 'X-Rewrite-URL', 'X-Host'],
    ...[
      'X-Auth-Request-Email',
      'X-Authenticated-Userid',
      'X-Consumer-Username',
      'CF-Access-Jwt-Assertion',
    ],
    ...['X-Goog-Authenticated-User-Email', 'X-Ms-Client-Principal', 'X-Amzn-Oidc-Identity'],
    ...['Client-Cert', 'X-SSL-Client-Verify', 'X-Forwarded-Client-Cert', 'X-AppEngine-User-IP'],
    ...['True-Client-IP', 'CF-Connecting-IP', 'Fly-Client-IP', 'X-HTTP-Method-Override'],
  ]
  const spellings = [
    (name: string) => name.toUpperCase(),
    (name: string) => name.replaceAll('-', '_'),
    (name: string) => name.replaceAll('-', '.'),
    (name: string) => name.replaceAll('-', '~'),
    (name: string) => name.replaceAll('-', '+'),
    (name: string) => name.replaceAll('-', "!#$%&'*+.^_`|~-"),
    (name: string) => name.replaceAll('-', '--'),
    (name: string) => `-${name}`,
    (name: string) => `_.${name}`,
    (name: string) => `${name}-`,
  ]
  const known = await ask(
    'GET /v1/x',
    'X-Amzn-Trace-Id: a\r\nX-Ms-Client-Request-Id: b\r\nX.Y: c\r\n',
  )
  t.match(known, /^HTTP\/1\.1 200/)
  const [first] = upstream.seen.splice(0)
  const usual = first && sentTo(first).map(([name]) => name)
  for (const name of ['x-amzn-trace-id', 'x-ms-client-request-id', 'x.y']) {
    t.ok(usual?.includes(name), `${name} is a caller’s to send`)
  }
  for (const spell of spellings) {
    const forged = names.map((name) => `${spell(name)}: forged\r\n`)
    // One Authorization header is read strictly, two are refused.
    const sent = forged.filter((line) => !/^(?:authorization|x-request-id):/i.test(line)).join('')
    t.match(await ask('GET /v1/x', sent), /^HTTP\/1\.1 200/)
    const [request] = upstream.seen.splice(0)
    const through = request && sentTo(request).filter(([, value]) => value.includes('forged'))
    t.strictSame(through, [], spell('X-Caller-Id'))
  }
})

t.test('a trusted proxy is believed what it forwards', async (t) => {
  const { upstream, call, headers } = await startFor(t, { more: 'trustedProxies: [ 127.0.0.0/8 ]' })
  await call('GET', '/v1/pets', undefined, {
    ...headers,
    'x-forwarded-for': '9.9.9.9, 10.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'api.example',
  })
  t.match(Object.fromEntries(sentTo(upstream.seen[0] as IncomingMessage)), {
    'x-forwarded-for': '9.9.9.9, 10.0.0.1, 127.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'api.example',
  })
})

t.test('a caller sees of a backend what it should, byte for byte', async (t) => {
  const bytes = Buffer.from([0x1f, 0x8b, 0, 255, 254, 10, 13])
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.end(
        Buffer.concat([
          Buffer.from(
            'HTTP/1.1 203 Fine\r\nServer: x\r\nX-Powered-By: y\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\n' +
              'Keep-Alive: timeout=9\r\nProxy-Authenticate: z\r\nX-RateLimit-Limit: 1\r\nRateLimit: "x"\r\n' +
              'X_RateLimit_Remaining: 1\r\nX.RateLimit.Reset: 1\r\nx-Rate-Limit-Limit: 1\r\nX--Gateway-Thing: 1\r\n' +
              'Rate_Limit: 1\r\nX_Request_Id: theirs\r\nX_Powered_By: y\r\n' +
              'Retry-After: 9\r\nX-Gateway-Thing: 1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2; HttpOnly\r\nETag: "e"\r\n' +
              'Link: <a>; rel=x\r\nLink: <b>; rel=y\r\nContent-Encoding: gzip\r\nX-Latin: caf\xe9\r\n' +
              `Content-Length: ${bytes.length}\r\n\r\n`,
            'latin1',
          ),
          bytes,
        ]),
      )
    })
  })
  const { url, head } = await startFor(t, { upstream })
  const { hostname, port } = new URL(url)
  const chunks: Buffer[] = []
  const socket = connect(Number(port), hostname, () => socket.write(head('GET /v1/x')))
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const answer = Buffer.concat(chunks)
  const end = answer.indexOf('\r\n\r\n')
  const lines = answer.subarray(0, end).toString('latin1').split('\r\n')
  t.match(lines[0], /^HTTP\/1\.1 203 /)
  t.strictSame(
    lines
      .slice(1)
      .filter((line) => !/^(?:date|x-ratelimit-|x-request-id:)/i.test(line))
      .map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase()))
      .sort(),
    [
      'connection: close',
      'content-encoding: gzip',
      'content-length: 7',
      'etag: "e"',
      'link: <a>; rel=x',
      'link: <b>; rel=y',
      'set-cookie: a=1',
      'set-cookie: b=2; HttpOnly',
      'x-latin: caf\xe9',
    ],
  )
  t.strictSame(answer.subarray(end + 4), bytes)
})

t.test('what a backend answers with is what its caller gets', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    const status = Number(/\d{3}/.exec(request.url ?? '')?.[0])
    response.writeHead(status, { 'Retry-After': '77', 'Content-Length': status === 204 ? 0 : 2 })
    response.end(status === 204 || status === 304 ? undefined : 'no')
  })
  const { get, ask, call, headers } = await startFor(t, { upstream })
  for (const status of [400, 404, 409, 422, 429, 500, 502, 503, 504, 599]) {
    const answer = await get(`/v1/${status}`)
    t.match(answer, { status, text: 'no', headers: { 'retry-after': '77' } })
  }
  t.equal(upstream.seen.length, 10, 'each was asked for once, a 503 too')
  t.match(await get('/v1/204'), { status: 204, text: '' })
  t.match(await get('/v1/304'), { status: 304, text: '' })
  t.match(await call('HEAD', '/v1/200', undefined, headers), {
    status: 200,
    text: '',
    headers: { 'content-length': '2' },
  })
  t.notMatch(await ask('GET /v1/204'), /content-length|transfer-encoding/i)
})

t.test(
  'a backend that fails is a 502 or a 504, asked once, and costs no day’s point',
  async (t) => {
    const log: string[] = []
    const misbehave: Record<string, (socket: Socket) => void> = {
      closed: (socket) => socket.end(),
      reset: (socket) => socket.resetAndDestroy(),
      garbage: (socket) => socket.end('SSH-2.0-OpenSSH\r\n\r\n'),
      nonsense: (socket) => socket.end('HTTP/1.1 200 OK\r\nbad header\r\n\r\n'),
      huge: (socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`),
      'header-of-control-characters': (socket) =>
        socket.end('HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 0\r\n\r\n'),
      999: (socket) => socket.end('HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'),
      'switch-unasked': (socket) => socket.end('HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n'),
      silent: () => undefined,
    }
    let asked = 0
    const upstream = await startRawUpstream(t, (socket) => {
      socket.on('data', (bytes) => {
        asked++
        const name = /\/v1\/(\S+) /.exec(bytes.toString())?.[1] ?? ''
        misbehave[name]?.(socket)
      })
    })
    const { get, dayLeft, call, headers } = await startFor(t, {
      upstream,
      upstreamMore: 'timeout: { response: 300ms }, health: { unhealthyAfter: 1000 }',
      log: { level: 'error', target: { write: (line: string) => void log.push(line) } },
    })
    for (const name of Object.keys(misbehave)) {
      asked = 0
      log.length = 0
      const started = performance.now()
      const before = await dayLeft()
      const answer = await get(`/v1/${name}`)
      const late = name === 'silent'
      t.match(answer, {
        status: late ? 504 : 502,
        text: late
          ? '{"code":"gateway_timeout","message":"The backend did not answer in time.","status":504}'
          : '{"code":"bad_gateway","message":"The backend closed the connection or sent an invalid response.","status":502}',
      })
      t.equal(asked, 1, `${name}: one request of the backend`)
      t.equal(await dayLeft(), before, `${name}: the day's point is back`)
      t.equal(log.filter((line) => line.includes('"upstream":"animals"')).length, 1, name)
      t.ok(performance.now() - started < bound(1_500), name)
      asked = 0
      t.match((await call('POST', `/v1/${name}`, { a: 1 }, headers)).status, late ? 504 : 502)
      t.equal(asked, 1, `${name}: a POST is sent once, too`)
    }
  },
)

t.test('an answer that breaks off is never a whole one', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', (bytes) => {
      const isChunked = bytes.includes('/chunked')
      socket.write(
        isChunked
          ? 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'
          : 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello',
      )
      if (!bytes.includes('/pause')) setTimeout(() => socket.destroy(), 50)
    })
  })
  const { ask } = await startFor(t, { upstream, upstreamMore: 'timeout: { idle: 200ms }' })
  const half = await ask('GET /v1/length')
  t.match(half, /content-length: 100\r\n[^]*\r\n\r\nhello$/i)
  t.notMatch(await ask('GET /v1/chunked'), /\r\n0\r\n\r\n$/)
  const started = performance.now()
  t.match(await ask('GET /v1/pause'), /hello$/)
  t.ok(performance.now() - started < 4_500, 'nor does one that pauses for too long go on for ever')
})

t.test('bytes go through as they come, in both directions', async (t) => {
  let release: () => void = () => undefined
  const heard: string[] = []
  const upstream = await startUpstream(t, (request, response) => {
    request.on('data', (chunk: Buffer) => heard.push(chunk.toString()))
    if (request.url === '/v1/events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.flushHeaders()
      release = () => response.write('data: one\n\n')
    } else request.on('end', () => response.end(heard.join('')))
  })
  const { url, head } = await startFor(t, { upstream })
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  let text = ''
  socket.on('data', (bytes: Buffer) => (text += bytes.toString()))
  socket.write(head('GET /v1/events'))
  await until(() => text.includes('\r\n\r\n'))
  t.match(text, /content-type: text\/event-stream/i, 'the headers come before there is an event')
  release()
  await until(() => text.includes('data: one'))
  release()
  await until(() => text.split('data: one').length === 3)

  const up = connect(Number(port), hostname)
  t.teardown(() => up.destroy())
  up.write(head('POST /v1/up', 'Transfer-Encoding: chunked\r\nContent-Type: text/plain\r\n'))
  up.write('3\r\none\r\n')
  await until(() => heard.join('') === 'one')
  up.write('3\r\ntwo\r\n0\r\n\r\n')
  const [answer] = (await once(up, 'data')) as [Buffer]
  t.match(answer.toString(), /onetwo$/, 'a text is not waited for either')
})

t.test('a caller that hangs up ends the work of its backend', async (t) => {
  let ended = 0
  const upstream = await startUpstream(t, (request, response) => {
    response.once('close', () => ended++)
    if (request.url === '/v1/begun') response.writeHead(200).write('x')
  })
  const { url, head } = await startFor(t, { upstream })
  const { hostname, port } = new URL(url)
  for (const [line, more] of [
    ['GET /v1/waiting', ''],
    ['GET /v1/begun', ''],
    ['POST /v1/sending', 'Content-Length: 100000\r\n'],
  ] as const) {
    const before = upstream.seen.length
    const socket = connect(Number(port), hostname, () => socket.write(head(line, more) + 'x'))
    await until(() => upstream.seen.length > before)
    await new Promise((go) => setTimeout(go, 20))
    ended = 0
    socket.destroy()
    await until(() => ended === 1, 1_000)
    t.pass(line)
  }
})

t.test('bodies', async (t) => {
  const got: number[] = []
  const upstream = await startUpstream(t, (request, response) => {
    let size = 0
    request.on('data', (chunk: Buffer) => (size += chunk.length))
    request.on('end', () => {
      got.push(size)
      response.end('{}')
    })
  })
  const { url, ask, token } = await startFor(t, {
    upstream,
    routes: '[ { path: /v1/*, upstream: animals, bodyLimit: 64KiB } ]',
  })
  const limit = 64 * 1024
  const chunked = (size: number) => {
    const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`
    return `${chunk.repeat(Math.floor(size / 4_096))}${size % 4_096 ? `1\r\nx\r\n` : ''}0\r\n\r\n`
  }
  const te = 'Transfer-Encoding: chunked\r\n'
  const types = ['', 'Content-Type: text/plain\r\n', 'Content-Type: application/json\r\n']

  t.test(
    'up to the limit go through, announced or chunked, and one byte more does not',
    async (t) => {
      for (const type of types) {
        for (const [name, answer] of [
          [
            'announced',
            ask('POST /v1/x', `${type}Content-Length: ${limit}\r\n`, 'x'.repeat(limit)),
          ],
          ['chunked', ask('POST /v1/x', type + te, chunked(limit))],
        ] as const) {
          t.match(await answer, /^HTTP\/1\.1 200/, `${name} ${type}`)
          t.equal(got.pop(), limit)
        }
        for (const [name, answer] of [
          [
            'announced',
            ask('POST /v1/x', `${type}Content-Length: ${limit + 1}\r\n`, 'x'.repeat(limit + 1)),
          ],
          ['chunked', ask('POST /v1/x', type + te, chunked(limit + 1))],
        ] as const) {
          t.match(await answer, /^HTTP\/1\.1 413 [^]*"payload_too_large"/, `${name} ${type}`)
        }
      }
      t.strictSame(got, [], 'the backend had no whole request of those')
    },
  )

  t.test('a refusal arrives at who is still sending, and little of the rest is read', async (t) => {
    const { hostname, port } = new URL(url)
    const size = 50 * 2 ** 20
    let unread = 0
    for (let i = 0; i < 20; i++) {
      const key = i % 2 ? `Bearer ${token}` : 'Bearer wrong'
      const status = await new Promise<number>((resolve, reject) => {
        const request = httpRequest({
          hostname,
          port,
          method: 'POST',
          path: '/v1/x',
          headers: {
            authorization: key,
            ...(i % 4 < 2 ? { 'content-length': size } : { 'transfer-encoding': 'chunked' }),
          },
        })
        request.once('response', (response) => {
          resolve(response.statusCode ?? 0)
          // The rest of the body is not written, because the socket closes.
          unread += size - (request.socket?.bytesWritten ?? 0)
          request.destroy()
        })
        request.once('error', reject)
        const block = Buffer.alloc(65_536)
        let left = size
        const send = (): void => {
          while (left > 0 && !request.destroyed) {
            left -= block.length
            if (!request.write(block)) return void request.once('drain', send)
          }
          request.end()
        }
        send()
      })
      t.equal(status, i % 2 ? 413 : 401)
    }
    t.ok(
      unread > 20 * 0.8 * size,
      `on average ${Math.round(unread / 20 / 2 ** 20)} of 50 MB were never sent`,
    )
  })

  t.test('who expects to be invited is, once it is admitted', async (t) => {
    const { hostname, port } = new URL(url)
    const begin = async (key: string) => {
      const socket = connect(Number(port), hostname)
      t.teardown(() => socket.destroy())
      socket.write(
        `POST /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
      )
      const [first] = (await once(socket, 'data')) as [Buffer]
      return { socket, first: first.toString() }
    }
    const { socket, first } = await begin(token)
    t.match(first, /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
    socket.write('hello')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    t.match(answer.toString(), /^HTTP\/1\.1 200/)
    t.equal(got.pop(), 5)
    const refused = await begin('wrong')
    t.match(refused.first, /^HTTP\/1\.1 401 [^]*connection: close/i, 'a stranger is not')
  })

  t.test('GET and HEAD have none; others may, or not', async (t) => {
    t.match(await ask('GET /v1/x', 'Content-Length: 2\r\n', '{}'), /^HTTP\/1\.1 400/)
    t.match(await ask('HEAD /v1/x', te, '0\r\n\r\n'), /^HTTP\/1\.1 400/)
    t.match(await ask('GET /v1/x', 'Content-Length: 0\r\n'), /^HTTP\/1\.1 200/)
    t.match(await ask('DELETE /v1/x', 'Content-Length: 2\r\n', '{}'), /^HTTP\/1\.1 200/)
    t.match(await ask('POST /v1/x'), /^HTTP\/1\.1 200/)
    t.match(await ask('POST /v1/x', 'Content-Length: 0\r\n'), /^HTTP\/1\.1 200/)
    t.match(
      await ask('POST /v1/x', 'Content-Type: nonsense\r\nContent-Length: 2\r\n', '{}'),
      /^HTTP\/1\.1 415/,
    )
  })

  t.test('one that does not come in time is a 408, and does not hold a backend', async (t) => {
    const quick = await startFor(t, { upstream, upstreamMore: 'timeout: { request: 400ms }' })
    const started = performance.now()
    const answer = await raw(quick.url, quick.head('POST /v1/x', 'Content-Length: 10\r\n') + 'x')
    t.match(answer, /^HTTP\/1\.1 408 [^]*"request_timeout"/)
    const waited = performance.now() - started
    t.ok(waited > 390 && waited < 4_500, `${Math.round(waited)} ms`)
  })
})

t.test('an early answer is passed on while its request is still coming', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () =>
      socket.end('HTTP/1.1 403 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno'),
    )
  })
  const { url, head } = await startFor(t, {
    upstream,
    routes: '[ { path: /v1/*, upstream: animals, bodyLimit: 100MiB } ]',
  })
  const { hostname, port } = new URL(url)
  for (let i = 0; i < 5; i++) {
    const socket = connect(Number(port), hostname)
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.write(head('POST /v1/x', `Content-Length: ${50 * 2 ** 20}\r\n`))
    socket.write(Buffer.alloc(1_000_000))
    const [answer] = (await once(socket, 'data')) as [Buffer]
    t.match(answer.toString(), /^HTTP\/1\.1 403 [^]*no$/)
  }
})

t.test('targets', async (t) => {
  const named = (name: string) => (_request: IncomingMessage, response: ServerResponse) => {
    response.end(name)
  }

  t.test('share requests by their weights', async (t) => {
    const [a, b] = [await startUpstream(t, named('a')), await startUpstream(t, named('b'))]
    const targets = `[ { url: "${a.url}", weight: 3 }, "${b.url}" ]`
    const { get } = await startFor(t, { targets })
    const answers = []
    for (let i = 0; i < 12; i++) answers.push((await get('/v1/x')).text)
    t.equal(answers.join(''), 'aabaaabaaaba')
  })

  t.test('that cannot be reached are passed over, where that does no harm', async (t) => {
    const [a, b] = [await startUpstream(t, named('a')), 'http://127.0.0.1:1']
    const gateway = await startFor(t, {
      targets: `[ "${b}", "${a.url}" ]`,
      upstreamMore: 'health: { unhealthyAfter: 1000 }',
    })
    const { call, headers } = gateway
    for (let i = 0; i < 4; i++) t.equal((await gateway.get('/v1/x')).text, 'a')
    const statuses = []
    for (let i = 0; i < 4; i++) {
      statuses.push((await call('POST', '/v1/x', { a: 1 }, headers)).status)
    }
    t.strictSame(statuses.sort(), [200, 200, 502, 502], 'a POST is not sent anywhere else')
    t.equal((await call('DELETE', '/v1/x', undefined, headers)).status, 200)
  })

  t.test(
    'that fail again and again are taken out, and let back in by a passing check',
    async (t) => {
      let isIll = true
      const ill = await startUpstream(t, (request, response) => {
        if (isIll) request.socket.destroy()
        else response.end('ill')
      })
      const well = await startUpstream(t, named('well'))
      const log: string[] = []
      const { get } = await startFor(t, {
        targets: `[ "${ill.url}", "${well.url}" ]`,
        upstreamMore: 'health: { path: /healthz, every: 1h, unhealthyAfter: 3 }',
        log: { level: 'info', target: { write: (line: string) => void log.push(line) } },
      })
      const statuses = []
      for (let i = 0; i < 40; i++) statuses.push((await get('/v1/x')).status)
      const failed = statuses.filter((status) => status === 502).length
      t.ok(failed >= 3 && failed <= 6, `three in a row, and a check that fails: ${failed}`)
      t.equal(log.filter((line) => line.includes('a target is taken out')).length, 1)
      isIll = false
      await until(() => log.some((line) => line.includes('a target is let back in')))
      const texts = new Set<string>()
      for (let i = 0; i < 4; i++) texts.add((await get('/v1/x')).text)
      t.strictSame([...texts].sort(), ['ill', 'well'])
    },
  )

  t.test('are looked at without being asked by anybody', async (t) => {
    let status = 500
    const sick = await startUpstream(t, (request, response) => {
      response.writeHead(request.url === '/healthz' ? status : 200).end('{}')
    })
    const { get } = await startFor(t, {
      upstream: sick,
      upstreamMore: 'health: { path: /healthz, every: 20ms, unhealthyAfter: 3 }',
    })
    let answer: Answer | undefined
    await until(async () => (answer = await get('/v1/x')).status === 503)
    t.match(answer, { text: /"code":"service_unavailable"/, headers: { 'retry-after': '1' } })
    status = 204
    await until(async () => (await get('/v1/x')).status === 200, 2_000)
  })

  t.test('must end their answers to checks', async (t) => {
    const endless = await startUpstream(t, (request, response) => {
      if (request.url === '/healthz') response.write('well')
      else response.end('{}')
    })
    const { get } = await startFor(t, {
      upstream: endless,
      upstreamMore: 'health: { path: /healthz, every: 20ms, unhealthyAfter: 1 }',
    })
    t.equal((await get('/v1/x')).status, 200)
    await until(async () => (await get('/v1/x')).status === 503, 10_000)
  })

  t.test('without a path to ask for are back when they can be connected to', async (t) => {
    const closing = await startRawUpstream(t, (socket) => socket.destroy())
    const well = await startUpstream(t, named('well'))
    const gateway = await startFor(t, { targets: `[ "${closing.url}", "${well.url}" ]` })
    const others = await Promise.all([1, 2, 3].map(() => gateway.key(plenty)))
    const ask = async (): Promise<number[]> => {
      const statuses = []
      for (let i = 0; i < 12; i++) {
        const { headers } = others[i % 3] ?? gateway
        statuses.push((await gateway.call('GET', '/v1/x', undefined, headers)).status)
      }
      return statuses.filter((status) => status === 502)
    }
    const failed = (await ask()).length
    t.ok(failed >= 3 && failed <= 4, `three callers in a row: ${failed}`)
    await until(async () => (await ask()).length > 0, 3_000)
  })

  t.test('are not taken out by what one caller asks for', async (t) => {
    const upstream = await startUpstream(t, (request, response) => {
      if (request.url === '/v1/reset') request.socket.destroy()
      else if (request.url !== '/v1/late') response.end('ok')
    })
    for (const path of ['path: /healthz, every: 2s', 'every: 2s']) {
      const gateway = await startFor(t, {
        upstream,
        upstreamMore: `timeout: { response: 300ms }, health: { ${path}, unhealthyAfter: 3 }`,
        log: { level: 'silent', target: { write: () => undefined } },
      })
      const { headers } = await gateway.key(plenty)
      for (const poison of ['/v1/reset', '/v1/late']) {
        let isOver = false
        // In one turn, so that no honest answer in between ends the row.
        const attack = async (): Promise<void> => {
          while (!isOver) await Promise.all([1, 2, 3, 4, 5, 6].map(() => gateway.get(poison)))
        }
        const attacking = attack()
        const refused: number[] = []
        for (let i = 0; i < 100; i++) {
          const { status } = await gateway.call('GET', '/v1/x', undefined, headers)
          if (status !== 200) refused.push(status)
          await pause(5)
        }
        isOver = true
        await attacking
        t.same(refused, [], `${poison}, ${path}: nobody else is refused`)
      }
    }
  })

  t.test('that are the last to be had stay, unless checks fail again and again', async (t) => {
    let isIll = false
    let checks = 0
    const upstream = await startUpstream(t, (request, response) => {
      if (request.url === '/healthz') checks++
      if (isIll) request.socket.destroy()
      else response.end('ok')
    })
    const { get } = await startFor(t, {
      upstream,
      upstreamMore: 'health: { path: /healthz, every: 1h, unhealthyAfter: 3 }',
    })
    isIll = true
    for (let i = 0; i < 3; i++) t.equal((await get('/v1/x')).status, 502)
    await until(() => checks === 1)
    t.equal((await get('/v1/x')).status, 502, 'one failed check is not enough')
    await until(async () => (await get('/v1/x')).status === 503, 3_000)
    t.equal(checks, 3)
    isIll = false
    await until(async () => (await get('/v1/x')).status === 200, 3_000)
  })
})

t.test('routes', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    response.setHeader('location', request.headers['x-location'] ?? '/elsewhere')
    response.end(`${request.method} ${request.url}`)
  })
  const gateway = await startFor(t, {
    upstream,
    routes: `
  - { path: /v1/*, upstream: animals }
  - { path: '/v1/pets/{petId}', upstream: animals, methods: [ GET, DELETE ] }
  - { path: /exact, upstream: animals }
  - { path: /old/*, upstream: animals, rewrite: /api/* }
  - { path: /bare/*, upstream: animals, rewrite: /* }
`,
  })
  const { call, headers, get } = gateway
  t.equal((await get('/v1/a/b?q=%41')).text, 'GET /v1/a/b?q=%41')
  t.equal((await get('/exact')).text, 'GET /exact')
  t.equal((await get('/old/a%20b/c?x=/old/')).text, 'GET /api/a%20b/c?x=/old/')
  t.equal((await get('/bare/a?x')).text, 'GET /a?x')
  t.equal((await get('/v1/')).text, 'GET /v1/')
  for (const path of ['/', '/v1', '/exact/', '/exact/more', '/old', '/V1/a', '/nowhere']) {
    t.equal((await get(path)).status, 404, path)
  }
  const refused = await call('PATCH', '/v1/pets/7', {}, headers)
  t.match(refused, { status: 405, headers: { allow: 'GET, DELETE, HEAD' } })
  t.equal((await call('DELETE', '/v1/pets/7', undefined, headers)).text, 'DELETE /v1/pets/7')
  t.equal((await call('HEAD', '/v1/pets/7', undefined, headers)).status, 200)
  for (const [path, sent, told] of [
    ['/v1/a', '/v1/pets/1', '/v1/pets/1'],
    ['/v1/a', `${upstream.url}/v1/pets/1`, '/v1/pets/1'],
    ['/v1/a', 'https://elsewhere.example/x', 'https://elsewhere.example/x'],
    ['/v1/a', `${upstream.url}//evil.example/`, `${upstream.url}//evil.example/`],
    ['/v1/a', upstream.url, '/'],
    ['/v1/a', `${upstream.url}1/private`, `${upstream.url}1/private`],
    ['/v1/a', `${upstream.url}.evil.example/`, `${upstream.url}.evil.example/`],
    ['/old/a', '/api/pets/1', '/old/pets/1'],
    ['/old/a', `${upstream.url}/api/pets/1?x=1`, '/old/pets/1?x=1'],
    ['/old/a', '/elsewhere', '/elsewhere'],
    ['/bare/a', '/pets/1', '/bare/pets/1'],
  ] as const) {
    const answer = await call('GET', path, undefined, { ...headers, 'x-location': sent })
    t.equal(answer.headers['location'], told, `${path}: ${sent}`)
  }
})

t.test('an answer that can’t be handed on fails its own request, and nothing else', async (t) => {
  const { url } = await startUpstream(t, ({ url }, response) => {
    if (url === '/stream') response.write('a beginning')
    else response.end('all')
  })
  const { config } = await startGateway(t, { upstream: { url, seen: [] } })
  const settings = config.upstreams.get('animals')
  if (!settings) throw new Error('there is an upstream')
  const log = { out: () => t.fail('is not taken out'), back: () => undefined }
  const upstream = new Upstream({ settings, log, meters: new Meters(), swap: undefined })
  const [first] = upstream.targets
  if (!first) throw new Error('there is a target')
  for (const target of ['/', '/stream']) {
    const events: unknown[] = []
    await new Promise<void>((resolve) => {
      const attempt = new TargetAttempt(
        first,
        {
          ...{ method: 'GET', target, callerId: 'k', headers: ['host', ''], body: undefined },
          ...{ sentAtMs: performance.now(), upgrade: false },
        },
        settings.timeouts,
        {
          answered: () => {
            throw new Error('of ours')
          },
          upgraded: () => t.fail(),
          failed: ({ kind, cause }) => events.push(kind, cause.message),
          ended: () => {
            events.push('ended')
            resolve()
          },
        },
      )
      attempt.begin()
    })
    await new Promise((resolve) => setTimeout(resolve, 50))
    t.strictSame(events, ['broken', 'of ours', 'ended'], `${target}: once, and its end last`)
  }
  await upstream.close()
})

t.test('a path may have several entries, each for methods of its own', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    response.end(`${request.method} ${request.url}`)
  })
  const { call, headers } = await startFor(t, {
    upstream,
    routes: `
  - { path: '/v1/{a}', upstream: animals, methods: [ GET ] }
  - { path: '/v1/{b}', upstream: animals, methods: [ POST, PURGE ], cost: 5, bodyLimit: 8B }
  - { path: /all/*, upstream: animals, methods: [ POST ], rewrite: /api/*, cost: 7 }
  - { path: /all/*, upstream: animals, cost: 2 }
`,
  })
  const left = (answer: Answer) => Number(answer.headers['x-ratelimit-remaining'])
  const first = await call('GET', '/v1/x', undefined, headers)
  t.match(first, { status: 200, text: 'GET /v1/x' })
  const costOf = async (method: string, path: string, body?: object) => {
    const before = left(await call('GET', '/v1/quota', undefined, headers))
    const answer = await call(method, path, body, headers)
    return [answer.status, answer.text, before - left(answer)]
  }
  t.strictSame(await costOf('POST', '/v1/x', [1]), [200, 'POST /v1/x', 5])
  t.strictSame(await costOf('PURGE', '/v1/x'), [200, 'PURGE /v1/x', 5])
  t.strictSame(await costOf('HEAD', '/v1/x'), [200, '', 1])
  t.equal((await call('POST', '/v1/x', [1, 2, 3, 4, 5], headers)).status, 413)
  t.equal((await call('POST', '/all/x', [1, 2, 3, 4, 5], headers)).text, 'POST /api/x')
  t.strictSame(await costOf('PUT', '/all/x', {}), [200, 'PUT /all/x', 2])
  t.strictSame(await costOf('GET', '/all/x'), [200, 'GET /all/x', 2])
  const refused = await call('DELETE', '/v1/x', undefined, headers)
  t.match(refused, { status: 405, headers: { allow: 'GET, HEAD, POST, PURGE' } })
  const rest = await call('PURGE', '/all/x', undefined, headers)
  const allow = 'POST, GET, HEAD, PUT, PATCH, DELETE, OPTIONS'
  t.match(
    rest,
    { status: 405, headers: { allow } },
    'the other entry has the rest of what is usual',
  )
})

t.test('a route may be for all that there is', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    response.end(`${request.method} ${request.url}`)
  })
  const { call, headers, get, ask } = await startFor(t, {
    upstream,
    routes:
      '[ { path: /*, upstream: animals }, { path: /v1/x, upstream: animals, methods: [GET] }, { path: /café, upstream: animals, methods: [GET] } ]',
  })
  for (const path of ['/', '/x', '/x/y?z=%41', '/v1/', '/v1/x', '/v1/quota/x']) {
    t.equal((await get(path)).text, `GET ${path}`)
  }
  t.match(json(await get('/v1/quota')), { plan: 'free' }, 'but what the gateway itself answers')
  t.equal((await call('PUT', '/x', {}, headers)).text, 'PUT /x')
  t.equal((await call('PUT', '/v1/x', {}, headers)).status, 405)
  t.equal((await call('PUT', '/caf%C3%A9', {}, headers)).status, 405, 'written without escapes')
  t.equal((await get('/caf%C3%A9')).text, 'GET /caf%C3%A9')
  t.match(await call('PURGE', '/x', undefined, headers), { status: 405 })
  t.equal((await call('GET', '/x')).status, 401)
  t.match(await ask('OPTIONS *'), /^HTTP\/1\.1 400 /)
  t.match(await ask('GET http://x.example/x'), /^HTTP\/1\.1 400 /)
  const rewritten = await startFor(t, {
    ...{ upstream, routes: '[ { path: /*, upstream: animals, rewrite: /api/* } ]' },
    store: `file: "${join(t.testdir(), 'other.db')}"`,
  })
  t.equal((await rewritten.get('/x/y?z')).text, 'GET /api/x/y?z')
})
