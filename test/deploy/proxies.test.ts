import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { verifySignature } from '../../gateway/index.ts'
import { startDeciding } from '../support/deciding.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, json, raw, type Answer } from '../support/http.ts'
import { root } from '../support/process.ts'
import { nginxConfig, startProgram } from '../support/program.ts'
import { atSomePort } from '../support/redis.ts'

const secret = 'a-secret-of-the-tests'
const page = 'https://app.example'
const proxies = { nginx: process.env['NGINX_BIN'], caddy: process.env['CADDY_BIN'] }
type Proxy = keyof typeof proxies

/** The ports of the given configurations, and what is there in a test. */
type Ports = Readonly<{ own: number; decide: number; api: number }>

/** A proxy with the configuration that is delivered, but for its ports. */
function startProxy(
  t: Test,
  by: Proxy,
  { own, decide, api }: Ports,
  token: string,
): Promise<string> {
  const binary = proxies[by]
  if (!binary) throw new Error(`this test needs ${by}: set ${by.toUpperCase()}_BIN`)
  const name = by === 'nginx' ? 'nginx.conf' : 'Caddyfile'
  const given = readFileSync(join(root, 'config/deploy/proxies', name), 'utf8')
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${own}`)
    .replaceAll('127.0.0.1:8082', `127.0.0.1:${decide}`)
    .replaceAll('127.0.0.1:8090', `127.0.0.1:${api}`)
    .replace(/# Where decide.token is set: (.*)THE TOKEN/, token === '' ? '$&' : `$1${token}`)
    .replace('# https://app.example $http_origin;', 'https://app.example $http_origin;')
  return atSomePort((port) =>
    startProgram(t, port, binary, (folder) => {
      const file = join(folder, name)
      if (by === 'nginx') {
        const http = given.replace('listen 80;', `listen 127.0.0.1:${port};`)
        writeFileSync(file, nginxConfig(folder, http))
        return ['-p', folder, '-c', file, '-e', '/dev/stderr']
      }
      const options = '{\n\tadmin off\n\tauto_https off\n}\n'
      writeFileSync(file, options + given.replace(':80 {', `:${port} {\n\tbind 127.0.0.1`))
      return ['run', '--config', file, '--adapter', 'caddyfile']
    }),
  )
}

/** A request as the backend has got it. */
type Got = Readonly<{
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}>

const gatewayOptions = {
  secret,
  routes: `
  - { path: /v1/scoped, upstream: none, scopes: [pets:write] }
  - { path: /v1/get, upstream: none, methods: [GET] }
  - { path: /v1/*, upstream: none }
`,
  more: `
headers: { ietf: draft-11 }
trustedProxies: [127.0.0.1]
strangers: { perMinute: 20, perDay: 1000 }
deprecations:
  - { operation: GET /v1/gone, since: 2026-01-01, sunset: 2026-02-01, replacement: /v2, docs: https://docs.example }
  - { operation: GET /v1/old, since: 2026-01-01, replacement: /v2, docs: https://docs.example }
`,
}

/** A proxy in front of a backend that keeps what it gets, and Tollgate beside it. */
async function startAll(t: Test, by: Proxy, decide = '', token = '') {
  const got: Got[] = []
  const api = await startUpstream(t, (request, response) => {
    const { method = '', url = '', headers } = request
    let body = ''
    request.on('data', (piece: Buffer) => (body += piece.toString('latin1')))
    request.on('end', () => {
      got.push({ method, url, headers, body })
      response.setHeader('x-ratelimit-limit', 'of the backend').setHeader('x-of-backend', 'yes')
      response.writeHead(url.startsWith('/v1/teapot') ? 418 : 200).end(`got ${body.length}`)
    })
  })
  api.server.on('upgrade', ({ url = '', headers }, socket) => {
    got.push({ method: 'upgrade', url, headers, body: '' })
    socket.end(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n\x81\x02hi',
    )
  })
  const deciding = await startDeciding(t, by, { ...gatewayOptions, decide })
  const portOf = (url: string): number => Number(new URL(url).port)
  const ports = {
    own: portOf(deciding.gateway.url),
    decide: portOf(deciding.url),
    api: portOf(api.url),
  }
  const url = await startProxy(t, by, ports, token)
  return { ...deciding, url, call: caller(url), got, api, ports }
}

/** 40 spellings under which a caller could pretend to be another one, or to be signed for. */
const forged = [
  ...['Id', 'Plan', 'Account', 'Reference', 'Tenant', 'Name', 'Scopes', 'Address', 'Ticket'],
].flatMap((name) => [
  ...[`X-Caller-${name}`, `x-caller-${name.toLowerCase()}`, `X_Caller_${name}`],
  `X-Caller_${name}`,
])
forged.push('Signature', 'Signature-Input', 'Signature_Input', 'X-Gateway-Signature')

for (const by of ['nginx', 'caddy'] as const) {
  t.test(`${by}: a yes reaches the backend whole and signed, limits the caller`, async (t) => {
    const { gateway, url, call, got } = await startAll(t, by)
    const { key, headers } = await gateway.key({ account: 'café', reference: 'cus_1' })
    for (const [method, target, body] of [
      ['GET', '/v1/pets?b=%20&a', undefined],
      ['HEAD', '/v1/pets', undefined],
      ['POST', '/v1/%70ets', 'x'.repeat(1_000_000)],
      ['DELETE', '/v1/pets/%C3%A9%40', undefined],
      ['PUT', '/v1/pets', 'short'],
      ['GET', '/v1/teapot', undefined],
    ] as const) {
      got.length = 0
      const answer = await call(method, target, body, headers)
      const told = {
        'x-of-backend': 'yes',
        'x-request-id': /./,
        'x-ratelimit-limit': '60',
        'x-ratelimit-remaining': /^\d+$/,
        'x-ratelimit-reset': /^\d+$/,
        'ratelimit-policy': /./,
        ratelimit: /./,
      }
      t.match(answer, { status: target === '/v1/teapot' ? 418 : 200, headers: told }, target)
      const [request] = got
      t.equal(got.length, 1)
      t.match(request, { method, url: target, body: body ?? '' })
      t.equal(request?.headers['x-request-id'], answer.headers['x-request-id'])
      t.notOk(request?.headers.authorization)
      const received = { method, target, headers: request?.headers ?? {}, secret }
      const caller = { id: key.id, plan: 'free', account: 'café', reference: 'cus_1' }
      t.match(verifySignature(received), caller)
    }
    t.match((await call('GET', '/v1/old', undefined, headers)).headers, {
      deprecation: /^@/,
      link: /v2.*docs\.example/,
    })
    got.length = 0
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${headers.authorization}\r\n`
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`
    t.match(await raw(url, chunked), /^HTTP\/1.1 200 /)
    t.match(got, [{ body: 'abc' }])
    t.match(await call('GET', '/v1/quota', undefined, headers), { status: 200, text: /"plan"/ })
  })

  t.test(
    `${by}: each refusal reaches the caller with its status, headers and sentence`,
    async (t) => {
      const { gateway, call, got } = await startAll(t, by)
      const { headers } = await gateway.key({
        scopes: ['x'],
        limits: { perMinute: 3, perDay: 100 },
      })
      const limits = { 'x-ratelimit-limit': /./, 'x-ratelimit-reset': /./, 'x-request-id': /./ }
      const refused = async (
        [method, target, body]: readonly [string, string, string?],
        more: Record<string, string>,
        expected: Readonly<{ status: number; headers?: object; code: string; message: RegExp }>,
      ): Promise<Answer> => {
        const answer = await call(method, target, body, more)
        const { status, code, message } = expected
        t.match(answer, { status, headers: { ...limits, ...expected.headers } }, target)
        t.match(answer.headers['content-type'], /^application\/json/)
        t.match(json(answer), { code, message, status })
        t.notOk(answer.headers['x-decision-status'])
        return answer
      }
      await refused(
        ['POST', '/v1/pets', 'x'.repeat(100_000)],
        {},
        {
          ...{ status: 401, code: 'missing_api_key', message: /API key/ },
          headers: { 'www-authenticate': 'Bearer realm="tollgate"' },
        },
      )
      await refused(
        ['GET', '/v1/pets'],
        { authorization: 'Bearer nonsense' },
        {
          ...{ status: 401, code: 'invalid_api_key', message: /./ },
          headers: {
            'www-authenticate': /^Bearer realm="tollgate"[^,]*(?:, error="invalid_token"[^,]*)?$/,
          },
        },
      )
      await refused(['GET', '/v1/scoped'], headers, {
        ...{ status: 403, code: 'forbidden', message: /scope/ },
        headers: { 'www-authenticate': /insufficient_scope.*pets:write/ },
      })
      await refused(['POST', '/v1/get'], headers, {
        ...{ status: 405, code: 'method_not_allowed', message: /only GET/ },
        headers: { allow: /^GET, HEAD$/ },
      })
      await refused(['GET', '/v1/a%2Fb'], headers, {
        ...{ status: 400, code: 'invalid_request', message: /more than one way/ },
      })
      await refused(['GET', '/v1/gone'], headers, {
        ...{ status: 410, code: 'gone', message: /./ },
        headers: { link: /v2.*docs\.example/, sunset: /2026/, deprecation: /^@/ },
      })
      await call('GET', '/v1/pets', undefined, headers)
      await refused(['GET', '/v1/pets'], headers, {
        ...{ status: 429, code: 'rate_limit_exceeded', message: /3 of 3|used/ },
        headers: { 'retry-after': /^\d+$/, 'x-ratelimit-remaining': '0', 'cache-control': /./ },
      })
      t.equal(got.length, 1, 'the backend has heard of one')
      const test = await gateway.key({ test: true })
      for (const [wish, status] of [
        ['bad_gateway', 502],
        ['gateway_timeout', 504],
        ['unavailable', 503],
        ['slow', 400],
      ] as const) {
        const answer = await call('GET', '/v1/pets', undefined, {
          ...test.headers,
          'x-gateway-act': wish,
        })
        t.match([answer.status, json(answer)['status']], [status, status], wish)
      }
      t.equal(got.length, 1)
      const { headers: stranger } = await call('GET', '/v1/pets', undefined, {
        'x-forwarded-for': '9.9.9.9',
      })
      t.equal(stranger['x-ratelimit-limit'], '20')
      for (let i = 0; i < 20; i++)
        await call('GET', '/v1/pets', undefined, { 'x-forwarded-for': `9.9.9.${i}` })
      const many = await call('GET', '/v1/pets', undefined, { 'x-forwarded-for': '9.9.8.8' })
      t.match([many.status, json(many)['code']], [429, 'too_many_failed_attempts'])
    },
  )

  t.test(`${by}: forged headers change nothing, and nobody has a tenant by them`, async (t) => {
    const { gateway, url, got } = await startAll(t, by)
    const { key, headers } = await gateway.key({ limits: { perMinute: 100, perDay: 100 } })
    t.equal(forged.length, 40)
    for (const name of [...forged, forged.map((each) => `${each}: forged`).join('\r\n')]) {
      got.length = 0
      const line = name.includes(':') ? name : `${name}: forged`
      const more = [
        ...['X-Original-Method: PUT', 'X-Original-URI: /v1/other'],
        ...['X-Forwarded-Method: PUT', 'X-Forwarded-Uri: /v1/other', 'X-Decide-Token: x'],
      ].join('\r\n')
      const sent = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${headers.authorization}\r\n${more}\r\n${line}\r\n\r\n`
      t.match(await raw(url, sent), /^HTTP\/1.1 200 /, name)
      const [request] = got
      t.notMatch(JSON.stringify(request?.headers), /forged/, name)
      const { 'x-caller-account': account, 'x-caller-reference': reference } =
        request?.headers ?? {}
      t.notOk(account ?? reference)
      const received = {
        method: 'GET',
        target: '/v1/pets',
        headers: request?.headers ?? {},
        secret,
      }
      t.strictSame(verifySignature(received), {
        ...{ id: key.id, plan: 'free', account: undefined, reference: undefined, claims: {} },
      })
    }
  })

  t.test(
    `${by}: Connection takes no header away that tells of the caller, and only WebSockets are upgrades`,
    async (t) => {
      const { gateway, url, got } = await startAll(t, by)
      const { key, headers } = await gateway.key({ account: 'acme' })
      const names =
        'X-Caller-Id, X-Caller-Plan, X-Caller-Account, X-Request-Id, Signature, Signature-Input'
      const head = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\n`
      t.match(await raw(url, `${head}Connection: ${names}, close\r\n\r\n`), /^HTTP\/1.1 200 /)
      const upgrades = [
        'Connection: Upgrade, close, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA',
        'Connection: Upgrade, close\r\nUpgrade: h2c, websocket',
      ]
      for (const more of upgrades) {
        t.match(await raw(url, `${head}${more}\r\n\r\n`), /^HTTP\/1.1 200 /, more)
      }
      t.match(got, [{ method: 'GET' }, { method: 'GET' }, { method: 'GET' }])
      for (const request of got) {
        t.notOk(request.headers.upgrade)
        const received = { method: 'GET', target: '/v1/pets', headers: request.headers, secret }
        t.match(verifySignature(received), { id: key.id, account: 'acme' })
      }
    },
  )

  t.test(`${by}: WebSockets and preflights`, async (t) => {
    const { gateway, url, call, got } = await startAll(t, by)
    const { key, headers } = await gateway.key({ limits: { perMinute: 1, perDay: 100 } })
    const upgrade = (authorization: string): string =>
      `GET /v1/socket HTTP/1.1\r\nHost: x\r\n${authorization}Connection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
    const opened = await raw(url, upgrade(`Authorization: ${headers.authorization}\r\n`))
    t.match(opened, /^HTTP\/1.1 101 [^]*hi$/)
    t.match(opened, /x-ratelimit-remaining: 0/i)
    const received = { method: 'GET', target: '/v1/socket', headers: got[0]?.headers ?? {}, secret }
    t.match(verifySignature(received), { id: key.id })
    t.match(
      await raw(url, upgrade(`Authorization: ${headers.authorization}\r\n`), 1_000),
      /^HTTP\/1.1 429 /,
    )
    t.match(await raw(url, upgrade(''), 1_000), /^HTTP\/1.1 401 /)
    t.equal(got.length, 1)
    const asks = { origin: page, 'access-control-request-method': 'GET' }
    const preflight = await call('OPTIONS', '/v1/pets', undefined, asks)
    t.match(preflight, {
      status: 204,
      headers: {
        'access-control-allow-origin': page,
        'access-control-allow-headers': /authorization/i,
        'access-control-allow-methods': /DELETE/,
      },
    })
    const foreign = { ...asks, origin: 'https://other.example' }
    const other = await call('OPTIONS', '/v1/pets', undefined, foreign)
    t.equal(other.status, 401)
    t.notOk(other.headers['access-control-allow-origin'])
    const refused = await call('GET', '/v1/pets', undefined, { ...headers, origin: page })
    t.match(refused, { status: 429, headers: { 'access-control-allow-origin': page } })
    t.equal(got.length, 1, 'a page reads its refusal, and the backend hears of none of this')
  })

  t.test(
    `${by}: closed while Tollgate is away or takes no token, and a backend that is away is 502`,
    async (t) => {
      const { gateway, call, got, api } = await startAll(t, by)
      const { headers } = await gateway.key()
      t.equal((await call('GET', '/v1/pets', undefined, headers)).status, 200)
      api.close?.()
      t.equal((await call('GET', '/v1/pets', undefined, headers)).status, 502)
      await gateway.app.close()
      const closed = await call('GET', '/v1/pets', undefined, headers)
      t.match(closed, {
        status: 503,
        headers: { 'retry-after': '1', 'content-type': /^application\/json/ },
      })
      t.match(json(closed), { code: 'service_unavailable', status: 503 })
      t.equal(got.length, 1)
      const untrusted = await startAll(t, by, ', token: the-proxys-own-token')
      const key = await untrusted.gateway.key()
      const answer = await untrusted.call('GET', '/v1/pets', undefined, key.headers)
      t.match([answer.status, json(answer)['code']], [503, 'service_unavailable'])
      t.equal(untrusted.got.length, 0)
      const [member, token] = [', token: the-proxys-own-token', 'the-proxys-own-token']
      const trusted = await startAll(t, by, member, token)
      const other = await trusted.gateway.key()
      t.equal((await trusted.call('GET', '/v1/pets', undefined, other.headers)).status, 200)
    },
  )
}
