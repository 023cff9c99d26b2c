import t from 'tap'
import { askingProxies } from '../../../gateway/front/config/asking.ts'
import { verifySignature } from '../../../gateway/index.ts'
import { startDeciding } from '../../support/deciding.ts'
import { json, raw, tlsCaller, type Answer } from '../../support/http.ts'
import { pairFor, selfSigned } from '../../support/certificate.ts'
import { bearer, jwtSection, signingKey, startKeyServer, tokenOf } from '../../support/jwt.ts'

const secret = 'a-secret-of-the-tests'

/** What a backend makes of a request that comes with the headers of an answer. */
function verified({ headers }: Answer, method: string, target: string) {
  return verifySignature({ method, target, headers, secret })
}

t.test('each proxy gets a yes with caller, limits and signature; it counts', async (t) => {
  for (const by of askingProxies) {
    const { gateway, ask } = await startDeciding(t, by, { secret })
    const { key, headers } = await gateway.key({ account: 'café', reference: 'cus_1' })
    const answer = await ask('DELETE', '/v1/pets?b=%20&a', headers)
    t.match(
      answer,
      {
        status: 200,
        text: '',
        headers: {
          'content-length': '0',
          'x-request-id': /./,
          'x-caller-id': key.id,
          'x-caller-plan': 'free',
          'x-caller-account': 'caf%C3%A9',
          'x-caller-reference': 'cus_1',
          'x-ratelimit-limit': '60',
          'x-ratelimit-remaining': '59',
        },
      },
      by,
    )
    t.notOk(answer.headers['content-digest'])
    t.match(verified(answer, 'DELETE', '/v1/pets?b=%20&a'), {
      ...{ id: key.id, account: 'café', reference: 'cus_1' },
    })
    t.equal(verified(answer, 'DELETE', '/v1/pets'), undefined, 'it is about this target')
    t.match((await ask('GET', '/v1/pets', headers)).headers, { 'x-ratelimit-remaining': '58' })
    t.equal(gateway.upstream.seen.length, 0, 'nothing is forwarded')
  }
})

t.test('all that a caller may have is there: empty where there is nothing, unsigned', async (t) => {
  const rsa = signingKey('RS256')
  const { url } = await startKeyServer(t, [rsa])
  const forward = 'plan: free, forward: { X-Caller-Tenant: tenant, X-Caller-Mail: mail }'
  const more = jwtSection(url, forward)
  const { gateway, ask } = await startDeciding(t, 'caddy', { secret, more })
  const ofKey = await ask('GET', '/v1/pets', (await gateway.key()).headers)
  t.match(ofKey, {
    status: 200,
    headers: {
      ...{ 'x-caller-tenant': '', 'x-caller-mail': '' },
      ...{ 'x-caller-account': '', 'x-caller-reference': '' },
    },
  })
  t.notMatch(ofKey.headers['signature-input'], /account|reference|tenant|mail/)
  const nobody = { account: undefined, reference: undefined, claims: {} }
  t.match(verified(ofKey, 'GET', '/v1/pets'), nobody)
  const ofToken = await ask('GET', '/v1/pets', bearer(tokenOf(rsa, { claims: { tenant: 'acme' } })))
  t.match(ofToken, { status: 200, headers: { 'x-caller-tenant': 'acme', 'x-caller-mail': '' } })
  t.match(verified(ofToken, 'GET', '/v1/pets'), { claims: { 'x-caller-tenant': 'acme' } })
})

t.test('a path is decided in one spelling, and signed as it was sent', async (t) => {
  const { gateway, ask } = await startDeciding(t, 'traefik', { secret })
  const { headers } = await gateway.key({ paths: ['/v1/pets'] })
  const answer = await ask('GET', '/v1/%70ets', headers)
  t.equal(answer.status, 200)
  t.ok(verified(answer, 'GET', '/v1/%70ets'))
  t.equal((await ask('GET', '/v1/cats', headers)).status, 403)
})

t.test('a question that is asked wrongly is no decision, and counts against nobody', async (t) => {
  let log = ''
  const { gateway, call, url } = await startDeciding(t, 'caddy', {
    more: 'strangers: { perMinute: 1, perDay: 1 }',
    log: { level: 'warn', target: { write: (line) => (log += line) } },
  })
  const { headers } = await gateway.key()
  const both = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/v1/pets' }
  const status = async (
    path: string,
    more: Record<string, string>,
    method = 'GET',
    body?: string,
  ) => (await call(method, path, body, { ...headers, ...more })).status
  for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'HEAD']) {
    t.equal(await status('/decide', both, method), 200, method)
  }
  t.equal(await status('/decide?x=1&X-Forwarded-Uri=/v2', both), 200, 'parameters say nothing')
  for (const [wrong, why] of [
    [{}, 'nothing'],
    [{ 'x-forwarded-method': 'GET' }, 'half a pair'],
    [{ 'x-forwarded-uri': '/v1/pets' }, 'half a pair'],
    [{ ...both, 'x-forwarded-method': '' }, 'an empty one'],
    [{ 'x-original-method': 'GET', 'x-original-uri': '/v1/pets' }, 'those of another proxy'],
  ] as const) {
    t.equal(await status('/decide', wrong), 400, why)
  }
  t.equal(await status('/decide', both, 'POST', 'a body'), 413)
  for (const path of ['/v1/pets', '/decide/v1/pets', '/decided', '/v1/quota', '/']) {
    t.equal(await status(path, both), 404, path)
  }
  const bytes = (more: string, uri = 'X-Forwarded-Uri: /v1/pets\r\n') =>
    raw(
      url,
      `GET /decide HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-Method: GET\r\n` +
        `Authorization: ${headers.authorization}\r\n${uri}${more}`,
    )
  const uris = 'X-Forwarded-Uri: /v1/pets\r\nx-forwarded-uri: /v1/pets\r\n'
  t.match(await bytes('\r\n', uris), /^HTTP\/1.1 400 /, 'one twice')
  t.match(await bytes('Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'), /^HTTP\/1.1 413 /)
  t.match(await bytes('Content-Length: 0\r\n\r\n'), /^HTTP\/1.1 200 /)
  const upgrade = 'Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n'
  t.match(await bytes(upgrade), /^HTTP\/1.1 200 /)
  t.match(
    await bytes(upgrade.replace('Upgrade', 'Connection: upgrade\r\nUpgrade')),
    /^HTTP\/1.1 200 /,
  )
  t.equal((await call('GET', '/decide', undefined, both)).status, 401, 'nobody was counted yet')
  const lines = log.trim().split('\n').map(json)
  t.strictSame(
    lines.map((line) => line['status']),
    [400, 413, 404],
    'a line a minute for each',
  )
})

t.test('what callers send wrongly is theirs: 400 and counted against their address', async (t) => {
  const { ask } = await startDeciding(t, 'caddy', {
    more: 'strangers: { perMinute: 5, perDay: 10 }\ntrustedProxies: [10.0.0.0/8]',
  })
  const from = (list: string) => ({ 'x-forwarded-for': list })
  const one = from('198.51.100.7')
  t.match(await ask('GET', '/v1/../x', one), { status: 400, text: /more than one way/ })
  t.match(await ask('GET', '/v1/%ff%', one), { status: 400 })
  t.match(await ask('GET', 'v1', one), { status: 400 })
  t.match(await ask('BREW', '/v1/pets', one), {
    status: 400,
    text: /method or the URL is malformed/,
  })
  t.match(await ask('TRACE', '/v1/pets', one), { status: 405 })
  t.equal((await ask('GET', '/v1/pets', one)).status, 429)
  t.equal((await ask('GET', '/v1/pets', from('198.51.100.7, 10.0.0.1, 10.2.0.1'))).status, 429)
  t.equal((await ask('GET', '/v1/pets', from('198.51.100.7, 198.51.100.8'))).status, 401)
  t.equal((await ask('GET', '/v1/pets')).status, 401, 'without the header, the proxy’s own')
})

t.test('whoever has no token of the proxy gets no decision, in a line a minute', async (t) => {
  let log = ''
  for (const by of ['nginx', 'envoy'] as const) {
    log = ''
    const { gateway, ask } = await startDeciding(t, by, {
      decide: ', token: the-proxys-own-token',
      log: { level: 'warn', target: { write: (line) => (log += line) } },
      more: 'strangers: { perMinute: 1, perDay: 1 }',
    })
    const { headers } = await gateway.key()
    for (const token of [{}, { 'x-decide-token': 'the-proxys-own-tokem' }]) {
      const answer = await ask('GET', '/v1/pets', { ...headers, ...token })
      t.match(answer, { status: 421, text: /misdirected_request/ })
      t.notOk(answer.headers['x-decision-status'])
    }
    const token = { 'x-decide-token': 'the-proxys-own-token' }
    const answer = await ask('GET', '/v1/pets', { ...headers, ...token })
    t.match(answer, { status: 200, headers: { 'x-ratelimit-remaining': '59' } })
    t.equal((await ask('GET', '/v1/pets', token)).status, 401)
    t.equal(log.match(/"status":421/g)?.length, 1, 'one line')
    t.notMatch(log, 'the-proxys-own')
  }
})

t.test('nginx gets 401 or 403, and each refusal as callers would get it', async (t) => {
  let nowMs = Date.UTC(2026, 5, 15, 12)
  let log = ''
  const { gateway, ask, call } = await startDeciding(t, 'nginx', {
    log: { level: 'info', target: { write: (line) => (log += line) } },
    clock: () => nowMs,
    routes: `
  - { path: /v1/dear, upstream: none, cost: 61 }
  - { path: /v1/scoped, upstream: none, scopes: [pets:read] }
  - { path: /v1/models, upstream: none, errors: on }
  - { path: /v1/*, upstream: none, methods: [GET, POST] }
`,
    more: `
bans: { strikes: 1, grace: 0s }
headers: { ietf: draft-11 }
deprecations:
  - { operation: GET /v1/gone, since: 2026-01-01, sunset: 2026-02-01, replacement: /v2 }
`,
  })
  const { headers } = await gateway.key({ scopes: ['x'], limits: { perMinute: 3, perDay: 90 } })
  const told = (answer: Answer) => {
    const { 'x-decision-status': status, 'x-decision-body': body } = answer.headers
    return { onTheWire: answer.status, status, ...json(String(body)) }
  }
  const refused = async (method: string, target: string, more: Record<string, string> = headers) =>
    told(await ask(method, target, { accept: 'application/problem+json', ...more }))
  const as = (status: number, code: string) => {
    const onTheWire = status === 401 ? 401 : 403
    return { onTheWire, code, message: /./ }
  }
  t.match(await refused('GET', '/v1/x', {}), as(401, 'missing_api_key'))
  t.match(await refused('GET', '/v1//x', {}), as(400, 'invalid_request'))
  t.match(await refused('GET', '/v1/%zz', {}), as(400, 'invalid_request'))
  t.match(await refused('GET', '/elsewhere'), as(404, 'not_found'))
  t.match(await refused('PUT', '/v1/x'), as(405, 'method_not_allowed'))
  t.match(await refused('GET', '/v1/dear'), as(403, 'forbidden'))
  t.match(await refused('GET', '/v1/gone'), as(410, 'gone'))
  const scoped = await ask('GET', '/v1/scoped', headers)
  t.match(told(scoped), as(403, 'forbidden'))
  t.match(scoped.headers['www-authenticate'], /insufficient_scope/)
  const full = await ask('GET', '/v1/models', headers)
  t.match(told(full), as(429, 'rate_limit_exceeded'))
  t.match(json(String(full.headers['x-decision-body'])), {
    status: 429,
    error: { type: 'rate_limit_error' },
  })
  t.match(full.headers, {
    'x-decision-status': '429',
    'retry-after': '60',
    'x-ratelimit-remaining': '0',
    'ratelimit-policy': /q=3/,
    'content-type': /^application\/json/,
  })
  nowMs++
  t.match(await refused('GET', '/v1/x'), as(429, 'key_banned'))
  const odd = await call('GET', '/decide', undefined, headers)
  t.match(told(odd), as(400, 'invalid_request'))
  const lines = log.trim().split('\n').map(json)
  const banned = { status: 429, path: '/v1/x', method: 'GET', for: 'nginx' }
  t.match(
    lines.find((line) => line['decision'] === 'key_banned'),
    banned,
  )
  t.notOk(lines.some((line) => line['status'] === 403 && line['decision'] !== 'forbidden'))
})

t.test('a refusal in a header is ASCII of 1 KB, and sound JSON', async (t) => {
  const { gateway, ask } = await startDeciding(t, 'nginx', {
    routes: `[ { path: /v1/*, upstream: none, scopes: [ ${Array.from({ length: 50 }, (_, i) => `s:${'x'.repeat(80)}${i}`).join()} ] } ]`,
  })
  const { headers } = await gateway.key({ scopes: ['x'] })
  const answer = await ask('GET', '/v1/x', headers)
  const body = String(answer.headers['x-decision-body'])
  t.match(json(body), { code: 'forbidden', status: 403 })
  t.ok(body.length <= 1_024, String(body.length))
  t.match(body, /^[ -~]+$/)
})

t.test('bytes that are no request are refused to nginx in its form', async (t) => {
  const { url } = await startDeciding(t, 'nginx')
  const answer = await raw(
    url,
    `GET /decide HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
  )
  t.match(answer, /^HTTP\/1.1 403 /)
  t.match(answer, /x-decision-status: 431\r\n/i)
  t.match(answer, /x-decision-body: \{"code":"headers_too_large".*"status":431\}\r\n/i)
})

t.test(
  'CORS is the proxy’s, own paths are 404, and an act that would be a yes is 400',
  async (t) => {
    const { gateway, ask } = await startDeciding(t, 'caddy', {
      more: 'cors: { origins: ["https://app.example"] }',
      routes: '[ { path: /*, upstream: none } ]',
    })
    const page = { origin: 'https://app.example', 'access-control-request-method': 'GET' }
    t.equal((await ask('OPTIONS', '/v1/pets', page)).status, 401, 'a preflight is a request')
    const { headers } = await gateway.key()
    const answer = await ask('OPTIONS', '/v1/pets', { ...headers, ...page })
    t.equal(answer.status, 200)
    t.notOk(answer.headers['access-control-allow-origin'])
    t.match(
      await ask('GET', '/v1/quota', headers),
      { status: 200, text: '' },
      'a path of the backend',
    )
    const test = await gateway.key({ test: true })
    const act = (wish: string) => ask('GET', '/v1/pets', { ...test.headers, 'x-gateway-act': wish })
    for (const wish of ['slow=1s', 'near_limit', 'deprecated', 'nonsense']) {
      t.match(await act(wish), { status: 400, headers: { 'x-caller-id': undefined } }, wish)
    }
    t.equal((await act('minute')).status, 429)
    t.equal((await act('bad_gateway')).status, 502)
    t.equal((await ask('GET', '/v1/pets', test.headers)).status, 200)
  },
)

t.test('each address has its own routes, and both count in one quota', async (t) => {
  const { gateway, ask } = await startDeciding(t, 'traefik', {
    routes: `
  - { path: /v1/*, upstream: none }
  - { path: /v2/*, upstream: animals }
`,
  })
  const { headers } = await gateway.key()
  const forwarded = (path: string) => gateway.call('GET', path, undefined, headers)
  t.equal((await forwarded('/v1/pets')).status, 404)
  t.equal((await ask('GET', '/v2/pets', headers)).status, 404)
  t.match(await forwarded('/v2/pets'), { status: 200, headers: { 'x-ratelimit-remaining': '57' } })
  const decided = await ask('GET', '/v1/pets', headers)
  t.match(decided, { status: 200, headers: { 'x-ratelimit-remaining': '56' } })
  t.equal(gateway.upstream.seen.length, 1)
})

t.test('a decision takes no place, and an estimate stands', async (t) => {
  const { gateway, ask } = await startDeciding(t, 'caddy', {
    routes: '[ { path: /v1/*, upstream: none, cost: { estimate: 3, from: answer, atMost: 9 } } ]',
    more: 'plans: { free: { perMinute: 60, atOnce: 1 } }',
  })
  const { headers } = await gateway.key()
  const answers = await Promise.all([1, 2, 3].map(() => ask('GET', '/v1/pets', headers)))
  t.strictSame(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  t.match((await ask('GET', '/v1/pets', headers)).headers, { 'x-ratelimit-remaining': '48' })
})

t.test('the address speaks TLS with its own certificate', async (t) => {
  const certificate = selfSigned()
  const { yaml } = pairFor(t, certificate)
  const { gateway, url } = await startDeciding(t, 'traefik', { decide: `, tls: ${yaml}` })
  const { headers } = await gateway.key()
  const about = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/v1/pets' }
  const call = tlsCaller(url, certificate.cert)
  t.equal((await call('GET', '/decide', undefined, { ...headers, ...about })).status, 200)
  t.match(
    gateway.app.front.certificates.ends.map(({ use }) => use),
    ['decide'],
  )
})

t.test('a stop ends connections that are idle, and takes no more', async (t) => {
  const { gateway, ask } = await startDeciding(t, 'caddy')
  const { headers } = await gateway.key()
  t.equal((await ask('GET', '/v1/pets', headers)).status, 200)
  await gateway.app.close()
  await t.rejects(ask('GET', '/v1/pets', headers))
})

t.test('a reload changes what is decided', async (t) => {
  const { gateway, ask } = await startDeciding(t, 'caddy')
  const { headers } = await gateway.key()
  t.equal((await ask('GET', '/v1/pets', headers)).status, 200)
  const routes = gateway.config.routes.map((route) => ({ ...route, cost: 20 }))
  await gateway.app.change({ ...gateway.config, routes })
  t.match((await ask('GET', '/v1/pets', headers)).headers, { 'x-ratelimit-remaining': '39' })
})
