import t from 'tap'
import { adminTokensFrom } from '../../../gateway/office/admin/token.ts'
import { startAdmin } from '../../support/admin.ts'
import { json, raw } from '../../support/http.ts'
import { token } from '../../support/operator.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

t.test('a method that a path doesn’t have is told with those that it has', async (t) => {
  const { operate } = await startAdmin(t)
  for (const [method, path, allow] of [
    ['POST', '/healthz', 'GET, HEAD'],
    ['DELETE', '/admin/keys', 'GET, HEAD, PATCH, POST'],
    ['PUT', '/admin/keys/x?x=1', 'GET, HEAD, PATCH'],
    ['GET', '/admin/bans/x', 'DELETE, PUT'],
    ['GET', '/admin/config/reload', 'POST'],
    ['OPTIONS', '/admin/audit', 'GET, HEAD'],
    ['DELETE', '/admin/keys/import', 'GET, HEAD, PATCH, POST'],
  ] as const) {
    const answer = await operate(method, path)
    t.match(json(answer), { code: 'method_not_allowed', status: 405 }, `${method} ${path}`)
    t.equal(answer.headers['allow'], allow)
  }
  for (const path of ['/', '/admin', '/admin/nothing', '/admin/keys/x/explode', '/healthz/']) {
    t.match(json(await operate('GET', path)), { code: 'not_found', status: 404 }, path)
  }
})

t.test('a request is read as strictly as on the callers’ address', async (t) => {
  const { url, admin } = await startAdmin(t)
  admin.server.headersTimeout = 200
  const many = 'x: y\r\n'.repeat(100)
  for (const [start, lines, status, code] of [
    ['GET /healthz HTTP/1.1', '\r\n', 400, 'invalid_request'],
    ['GET /healthz HTTP/1.1', 'Host: x\r\nHost: y\r\n\r\n', 400, 'invalid_request'],
    ['GET /healthz HTTP/2.0', 'Host: x\r\n\r\n', 505, 'http_version_not_supported'],
    ['GET /healthz HTTP/1.1', `Host: x\r\n${many}\r\n`, 431, 'headers_too_large'],
    [`GET /healthz?${'x'.repeat(8_192)} HTTP/1.1`, 'Host: x\r\n\r\n', 414, 'uri_too_long'],
    [
      'POST /admin/keys HTTP/1.1',
      'Host: x\r\nTransfer-Encoding: gzip\r\n\r\n',
      ...[501, 'not_implemented'],
    ],
    ['GET /healthz HTTP/1.1', 'Host: x\r\n', 408, 'request_timeout'],
  ] as const) {
    const answer = await raw(url, `${start}\r\n${lines}`)
    t.match(json(answer.slice(answer.indexOf('{'))), { status, code }, `${start} ${lines}`)
    t.ok(answer.startsWith(`HTTP/1.1 ${status} `), `${status}`)
  }
  const expecting = 'Host: localhost\r\nExpect: wonders\r\nConnection: close\r\n\r\n'
  const answer = await raw(url, `GET /healthz HTTP/1.1\r\n${expecting}`)
  t.match(answer, /^HTTP\/1\.1 200 .*\{"status":"alive"\}$/s, 'no expectation is in the way')
})

t.test('who sends no token, and who sends a wrong one, is told which', async (t) => {
  const { operate, ask } = await startAdmin(t)
  const realm = 'Bearer realm="tollgate admin"'
  const missing = await operate('GET', '/admin/keys')
  t.match(json(missing), { code: 'missing_api_key', message: /^Send the token/, status: 401 })
  t.equal(missing.headers['www-authenticate'], realm)
  for (const authorization of ['', 'Bearer', 'Bearer wrong', 'Basic operator']) {
    const invalid = await ask('GET', '/admin/keys', undefined, { authorization })
    t.match(json(invalid), { code: 'invalid_api_key', status: 401 }, authorization)
    t.equal(invalid.headers['www-authenticate'], `${realm}, error="invalid_token"`)
    t.equal(invalid.headers['cache-control'], 'no-store')
  }
})

t.test('an ADMIN_TOKEN that could be guessed, or means nothing, is none', (t) => {
  const [one, two] = ['sixteen-letters-', 'another-sixteen-letters']
  t.strictSame(adminTokensFrom(), [])
  t.strictSame(adminTokensFrom(''), [])
  t.strictSame(adminTokensFrom(one), [{ name: 'admin', role: 'all', token: one }])
  t.strictSame(adminTokensFrom(`alice/on-call/all:${one}, bob:${two}`), [
    { name: 'alice/on-call', role: 'all', token: one },
    { name: 'bob', role: 'all', token: two },
  ])
  const text = `eve/read:${one},team/bob/support:${two},team/al/all:${one}`
  const roles = adminTokensFrom(text)
  t.strictSame(
    roles.map(({ name, role }) => `${name} ${role}`),
    ['eve read', 'team/bob support', 'team/al all'],
  )
  for (const [setting, why] of [
    ['alice:', /^ADMIN_TOKEN has no token in it\. Write TOKEN, or alice:TOKEN,/],
    [`alice:,bob:${two}`, /^part 1 of ADMIN_TOKEN has no token in it/],
    [`alice:${one},`, /^part 2 of ADMIN_TOKEN has no token in it/],
    [`,${one}`, /^part 1 of ADMIN_TOKEN has no token in it/],
    [' , ', /^part 1 of ADMIN_TOKEN has no token in it/],
    [`alice:${one}:${two}`, /^ADMIN_TOKEN has more than one colon/],
    ['fifteen-letters', /^ADMIN_TOKEN has a token of 15 characters, where at least 16 are needed/],
    ['bob:fifteen-letters', /^ADMIN_TOKEN has a token of 15 characters/],
    [`alice:${one} and more`, /^ADMIN_TOKEN has a space in its token/],
    [`eve/raed:${one}`, /^ADMIN_TOKEN names the role "raed", .*: roles are read, support, all\./],
    [`eve/Support:${one}`, /^ADMIN_TOKEN names the role "Support", which doesn't exist/],
    [`alice/on-call:${one}`, /^ADMIN_TOKEN names the role "on-call", which doesn't exist/],
    [`alice/:${one}`, /^ADMIN_TOKEN names the role "", which doesn't exist/],
    [`/read:${one}`, /^ADMIN_TOKEN has no readable name before its colon/],
    [`:${one}`, /^ADMIN_TOKEN has no readable name before its colon/],
    [`al\u202eice:${one}`, /^ADMIN_TOKEN has no readable name before its colon/],
  ] as const) {
    t.throws(() => adminTokensFrom(setting), { message: why }, setting)
    t.throws(() => adminTokensFrom(setting), { message: /^(?!.*letters)/ }, 'and is not told')
  }
  t.end()
})

t.test('who guesses tokens is asked to wait, and who has one is not', async (t) => {
  let now = Date.UTC(2030, 0, 1, 12, 0, 20)
  const strangers = 'strangers: { perMinute: 5, perDay: 1000 }'
  const { operate, ask, gateway } = await startAdmin(t, { clock: () => now, more: strangers })
  const guess = (i: number) =>
    operate('GET', '/admin/keys', undefined, { authorization: `Bearer guess-number-${i}-of-many` })
  const statuses: number[] = []
  for (let i = 0; i < 8; i++) statuses.push((await guess(i)).status)
  t.strictSame(statuses, [...Array<number>(5).fill(401), ...Array<number>(3).fill(429)])
  const refused = await operate('POST', '/admin/keys', { name: 'x', plan: 'free' })
  t.match(json(refused), { code: 'too_many_failed_attempts', status: 429 })
  t.match(refused.headers, { 'retry-after': '40', 'cache-control': 'no-store' })
  t.equal((await ask('GET', '/admin/keys')).status, 200, 'from the same address')
  t.equal((await operate('GET', '/readyz')).status, 200, 'and health is nobody’s secret')
  t.equal((await gateway.call('GET', '/v1/pets')).status, 401, 'callers are counted by themselves')
  now += 40_000
  t.equal((await guess(9)).status, 401, 'after as long as was told')
})

t.test('who guesses at one admin address of a fleet has guessed at all of them', async (t) => {
  const { url } = await startRedis(t)
  const clock = () => Date.UTC(2030, 0, 1, 12, 0, 20)
  const store = `redis: "${url}"`
  const options = { store, clock, more: 'strangers: { perMinute: 5, perDay: 1000 }' }
  const [first, second] = [await startAdmin(t, options), await startAdmin(t, options)]
  const own = { 'sec-fetch-site': 'same-origin' }
  const guess = async ({ operate }: typeof first) =>
    (await operate('GET', '/admin/keys', undefined, { authorization: 'Bearer a-guess' })).status
  const signIn = async ({ operate }: typeof first) =>
    (await operate('POST', '/console/session', { token: 'a-guess' }, own)).status
  for (const tried of [guess, signIn]) {
    for (let i = 0; i < 5; i++) t.equal(await tried(first), 401)
    t.equal(await tried(first), 429)
    let heard = 0
    await until(async () => (await tried(second)) === 429 || ++heard === 5)
    t.ok(heard < 5, `the other one has answered ${heard} before it heard of them`)
  }
  const { headers } = await first.gateway.key()
  t.equal((await second.gateway.call('GET', '/v1/pets')).status, 401, 'that is counted apart')
  t.equal((await second.gateway.call('GET', '/v1/pets', undefined, headers)).status, 200)
})

t.test('a page that leads its own name here reads nothing', async (t) => {
  const admin = '{ host: 127.0.0.1, port: 0, hosts: [ Ops.Example ] }'
  const { url } = await startAdmin(t, { admin })
  const paths = ['/healthz', '/readyz', '/metrics', '/admin/keys', '/nothing']
  const statusesFor = async (url: string, host: string) => {
    const lines = `Host: ${host}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`
    const answers = paths.map((path) => raw(url, `GET ${path} HTTP/1.1\r\n${lines}`))
    return (await Promise.all(answers)).map((answer) => Number(answer.slice(9, 12)))
  }
  const answered = [200, 200, 200, 200, 404]
  const { port } = new URL(url)
  for (const host of [
    ...['127.0.0.1', `127.0.0.1:${port}`, '[::1]:1', '10.0.0.7', 'localhost', `LocalHost.:${port}`],
    ...['tollgate.localhost:8081', 'ops.example', 'OPS.example:443'],
  ]) {
    t.strictSame(await statusesFor(url, host), answered, host)
  }
  for (const host of [
    ...['page.example', `page.example:${port}`, 'localhost.page.example', 'notlocalhost'],
    ...['127.0.0.1.page.example', 'ops.example.page', 'an.ops.example', '2130706433', '127.1'],
  ]) {
    t.strictSame(await statusesFor(url, host), Array(5).fill(421), host)
  }
  const answer = await raw(
    url,
    'GET /readyz HTTP/1.1\r\nHost: page.example\r\nConnection: close\r\n\r\n',
  )
  t.match(json(answer.slice(answer.indexOf('{'))), {
    code: 'misdirected_request',
    message: 'Use an IP address or localhost to reach this, or add the name to admin.hosts.',
    status: 421,
  })
  const others = await startAdmin(t, { admin: '{ host: 0.0.0.0, port: 0 }' })
  t.strictSame(await statusesFor(others.url, 'gateway'), answered, 'others call it as they like')
})
