import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { startStore } from '../../support/backend.ts'
import { startForCaller } from '../../support/first-caller.ts'
import { startGateway, startRawUpstream, startUpstream } from '../../support/gateway.ts'
import { json, raw } from '../../support/http.ts'

/** Names and values of what an upstream was sent, in small letters. */
function sentTo({ rawHeaders }: IncomingMessage): [string, string][] {
  const pairs: [string, string][] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    pairs.push([rawHeaders[i]?.toLowerCase() ?? '', rawHeaders[i + 1] ?? ''])
  }
  return pairs
}

t.test('a backend sees of a caller what it should, and no more', async (t) => {
  const { upstream, ask, url, token } = await startForCaller(t)
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
      ['via', '1.1 tollgate'],
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

/** Headers that a backend believes, or others in front of a backend do. */
const believed = (
  'X-Caller-Id X-Caller-Plan X-Gateway-Signature X-Forwarded-For X-Forwarded-User Authorization Cookie Proxy ' +
  'X-Request-Id Forwarded Forwarded-For Client-IP Remote-User Remote-Groups X-Remote-User X-Remote-Addr ' +
  'X-WebAuth-User X-Envoy-External-Address X-Envoy-Original-Path X-Azure-ClientIP X-Azure-SocketIP ' +
  'X-Original-URL X-Original-URI X-Original-Forwarded-For X-Rewrite-URL X-Host X-Auth-Request-Email ' +
  'X-Authenticated-Userid X-Consumer-Username CF-Access-Jwt-Assertion X-Goog-Authenticated-User-Email ' +
  'X-Ms-Client-Principal X-Amzn-Oidc-Identity Client-Cert X-SSL-Client-Verify X-Forwarded-Client-Cert ' +
  'X-AppEngine-User-IP True-Client-IP CF-Connecting-IP Fly-Client-IP X-HTTP-Method-Override'
).split(' ')

t.test('no spelling of a name tells a backend what only the gateway may', async (t) => {
  const { upstream, ask } = await startForCaller(t)
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
    const forged = believed.map((name) => `${spell(name)}: forged\r\n`)
    // One Authorization header is read strictly, two are refused.
    const sent = forged.filter((line) => !/^(?:authorization|x-request-id):/i.test(line)).join('')
    t.match(await ask('GET /v1/x', sent), /^HTTP\/1\.1 200/)
    const [request] = upstream.seen.splice(0)
    const through = request && sentTo(request).filter(([, value]) => value.includes('forged'))
    t.strictSame(through, [], spell('X-Caller-Id'))
  }
})

t.test('a trusted proxy is believed what it forwards', async (t) => {
  const { upstream, call, headers } = await startForCaller(t, {
    more: 'trustedProxies: [ 127.0.0.0/8 ]',
  })
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
              'Connection: X-Leap\r\nX-Leap: 1\r\n' +
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
  const { url, head } = await startForCaller(t, { upstream })
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
      'via: 1.1 tollgate',
      'x-latin: caf\xe9',
    ],
  )
  t.strictSame(answer.subarray(end + 4), bytes)
})

t.test('what is forwarded is signed, so that the animal store believes it', async (t) => {
  const store = await startStore(t, { secret: 's3cret' })
  const { call, key } = await startGateway(t, {
    upstream: { url: store.url, seen: [] },
    secret: 's3cret',
  })
  const { headers } = await key()
  const forged = {
    ...headers,
    'x-caller-plan': 'enterprise',
    'x-gateway-signature': 't=1,v1=00',
    x_caller_id: 'boss',
  }
  t.equal((await store.call('GET', '/v1/pets')).status, 403)
  t.equal((await call('GET', '/v1/pets?limit=2', undefined, forged)).status, 200)
  t.equal((await call('POST', '/v1/pets', { name: 'Rex', categoryId: 1 }, headers)).status, 201)
  const unsigned = await startGateway(t, { upstream: { url: store.url, seen: [] } })
  const other = await unsigned.key()
  t.match(await unsigned.call('GET', '/v1/pets', undefined, other.headers), {
    status: 502,
    text: /does not take requests from this gateway/,
  })
  const spent = json(await unsigned.call('GET', '/v1/quota', undefined, other.headers))
  t.match(spent, { day: { remaining: 1_000 } }, 'that is no fault of the caller')
  // A secret is changed on one side at a time: the first of two signs, both are believed.
  const renewed = await startStore(t, { secret: 'new,s3cret' })
  const older = await startGateway(t, {
    upstream: { url: renewed.url, seen: [] },
    secret: 's3cret,older',
  })
  const third = await older.key()
  t.equal((await older.call('GET', '/v1/pets', undefined, third.headers)).status, 200)
})

t.test('a backend that sends back what it got does not refuse the gateway', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    for (const name of Object.keys(request.headers)) {
      if (name.startsWith('x-')) response.setHeader(name, request.headers[name] ?? '')
    }
    const isRefusal = request.url === '/v1/refused'
    if (isRefusal) response.setHeader('x-gateway-signature', 'refused')
    response.writeHead(isRefusal ? 403 : 200).end('{}')
  })
  const { call, key } = await startGateway(t, { upstream, secret: 's3cret' })
  const { headers } = await key()
  const answer = await call('GET', '/v1/echo', undefined, headers)
  t.equal(answer.status, 200)
  t.match(upstream.seen[0]?.headers['signature'], /^tollgate=:/)
  t.equal(answer.headers['x-gateway-signature'], undefined, 'and nobody else learns what it got')
  t.equal((await call('GET', '/v1/refused', undefined, headers)).status, 502, 'one that does, does')
})
