import t, { type Test } from 'tap'
import { adminTokensFrom, roleWarnings } from '../../gateway/admin/token.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { startAdmin } from '../support/admin.ts'
import { startUpstream } from '../support/gateway.ts'
import { json, raw, type Call } from '../support/http.ts'
import { token } from '../support/operator.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { until } from '../support/until.ts'

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
  t.strictSame(adminTokensFrom(`alice/on-call:${one}, bob:${two}`), [
    { name: 'alice/on-call', role: 'all', token: one },
    { name: 'bob', role: 'all', token: two },
  ])
  const text = `eve/read:${one},team/bob/support:${two},team/al/all:${one}`
  const roles = adminTokensFrom(text)
  t.strictSame(
    roles.map(({ name, role }) => `${name} ${role}`),
    ['eve read', 'team/bob support', 'team/al all'],
  )
  t.strictSame([...roleWarnings(text), ...roleWarnings(), ...roleWarnings(one)], [])
  t.match(roleWarnings(`bob:${two}, alice/on-call:${one}`), [
    /^ADMIN_TOKEN: "on-call" isn't a role, so alice\/on-call is a name, and may do everything; roles are read, /,
  ])
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
    [`eve/raed:${one}`, /^ADMIN_TOKEN names the role "raed", which doesn't exist; is it read\?/],
    [`eve/read-only:${one}`, /^ADMIN_TOKEN names the role "read-only", .* is it read\?/],
    [`eve/Support:${one}`, /^ADMIN_TOKEN names the role "Support", .* is it support\?/],
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

t.test('a query with what is not known, or twice, is refused', async (t) => {
  const { ask } = await startAdmin(t)
  const { id } = json(await ask('POST', '/admin/keys', { name: 'A', plan: 'free' }))
  for (const [method, target, message] of [
    ['GET', '/admin/usage?dys=1', 'There is no parameter "dys"; did you mean days?'],
    ['GET', '/admin/usage?days=1&days=2', 'days can be given only once.'],
    ['GET', '/admin/audit?key=a&key=b', 'key can be given only once.'],
    ['HEAD', '/admin/audit?key=a&key=b', undefined],
    [
      'GET',
      '/admin/keys?revoked',
      'There is no parameter "revoked"; there are search, name, plan, account, state, unused, neverUsed, oldTokenUsed, temporary, all, limit, after, standing.',
    ],
    ['GET', '/admin/keys?all=no', 'all must be true or false.'],
    ['GET', '/admin/usage?days=0', 'days must be a whole number from 1 to 90.'],
    ['GET', '/admin/keys?limit=0', 'limit must be a whole number from 1 to 1000.'],
    ['GET', '/admin/keys?state=gone', 'state must be active, disabled, expired or revoked.'],
    ...['x', 'AAAA', '..', 'YQ', 'YQFi', 'YQFiA%3D', '%00', '%ff', 'x'.repeat(5_000)].map(
      (cursor) =>
        [
          'GET',
          `/admin/keys?after=${cursor}`,
          'after must be the "next" of a page, as it was given.',
        ] as const,
    ),
    [
      'POST',
      `/admin/keys/${String(id)}/revoke?dry=true`,
      'There is no parameter "dry"; this endpoint takes none.',
    ],
  ] as const) {
    const answer = await ask(method, target)
    t.equal(answer.status, 400, target)
    if (message) t.match(json(answer), { code: 'invalid_request', message }, target)
  }
  t.match(json(await ask('GET', `/admin/keys/${String(id)}`)), { state: 'active' })
  await ask('POST', `/admin/keys/${String(id)}/revoke`)
  for (const [query, length] of [
    ['', 0],
    ['?all=false', 0],
    ['?all=true', 1],
    ['?all', 1],
    ['?all&search=&name=&plan=&account=&state=&limit=&after=', 1],
  ] as const) {
    const keys: unknown = JSON.parse((await ask('GET', `/admin/keys${query}`)).text)
    t.match(keys, { length }, query)
  }
})

/** Asks for something to be read, or to be changed, and is told that the store can't be reached. */
async function unavailable(t: Test, ask: Call, method: string, path: string, body?: object) {
  const { status, headers, text } = await ask(method, path, body)
  t.equal(status, 503, `${method} ${path}: ${text}`)
  t.equal(headers['retry-after'], '5')
  if (method === 'HEAD') return
  t.match(json(text), { code: 'service_unavailable', message: /can’t be reached/, status: 503 })
  t.notMatch(text, /redis|sqlite|127\.0\.0\.1/i, 'and what it is, the log tells')
}

t.test('a Redis that can’t be asked is told, and when to try again', async (t) => {
  const newKey = { name: 'A', plan: 'free' }
  const reads = [
    '/admin/keys',
    '/admin/bans',
    '/admin/usage',
    '/admin/deprecations',
    '/admin/audit',
  ]
  const troubles: Record<string, (redis: RedisServer) => Promise<unknown>> = {
    ends: ({ kill }) => kill(),
    'answers nothing': async ({ child }) => child().kill('SIGSTOP'),
    'is full': ({ client }) => client.config('SET', 'maxmemory', '1'),
    'is a replica': ({ client, port }) => client.replicaof('127.0.0.1', String(port)),
  }
  for (const [what, begin] of Object.entries(troubles)) {
    await t.test(`that ${what}`, async (t) => {
      const redis = await startRedis(t)
      const { ask, operate } = await startAdmin(t, { store: `redis: "${redis.url}"` })
      await until(async () => (await ask('POST', '/admin/keys', newKey)).status === 201)
      await begin(redis)
      await unavailable(t, ask, 'POST', '/admin/keys', newKey)
      if (what !== 'is full' && what !== 'is a replica') {
        for (const path of reads) {
          await unavailable(t, ask, 'GET', path)
          await unavailable(t, ask, 'HEAD', path)
        }
      }
      t.equal((await operate('GET', '/healthz')).status, 200)
    })
  }
})

t.test('a file that another program has locked is told as well', async (t) => {
  const { ask, gateway } = await startAdmin(t)
  const other = openGatewayFile(gateway.config.store.file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  await unavailable(t, ask, 'POST', '/admin/keys', { name: 'A', plan: 'free' })
  other.exec('ROLLBACK')
  t.equal((await ask('POST', '/admin/keys', { name: 'A', plan: 'free' })).status, 201)
})

t.test('a change that is made but can’t be written down is told to be made', async (t) => {
  const { ask, gateway } = await startAdmin(t)
  const { id } = json(await ask('POST', '/admin/keys', { name: 'A', plan: 'free' }))
  const file = openGatewayFile(gateway.config.store.file)
  t.teardown(() => file.close())
  file.exec('DROP TABLE audit')
  const answer = await ask('POST', `/admin/keys/${String(id)}/disable`)
  const message = 'The change was made (keys.disable), but could not be written to the audit.'
  t.strictSame(json(answer), { code: 'internal_error', message, status: 500 })
  t.match(json(await ask('GET', `/admin/keys/${String(id)}`)), { state: 'disabled' })
})

t.test('a file that can’t be put in force is a conflict, in the form of every error', async (t) => {
  const { ask, write } = await startAdmin(t)
  t.match(json(await ask('POST', '/admin/config/reload')), { result: 'unchanged', mistakes: [] })
  write((text) => text.replace('plans:', 'plams:'))
  const answer = await ask('POST', '/admin/config/reload')
  t.equal(answer.status, 409)
  t.match(json(answer), {
    code: 'conflict',
    message: /^The file is refused, .* has no setting "plams"; did you mean plans\?$/,
    status: 409,
  })
  t.strictSame(Object.keys(json(answer)), ['code', 'message', 'status'])
  const { hash, mistakes } = json(await ask('GET', '/admin/config'))
  t.match(mistakes, [/gateway\.yaml:\d+:\d+: the file has no setting "plams"/])
  write((text) => text.replace('plams:', 'plans:').replace('perMinute: 60', 'perMinute: 61'))
  const changed = json(await ask('POST', '/admin/config/reload'))
  t.match(changed, { result: 'changed', mistakes: [] })
  t.not(changed['hash'], hash)
})

t.test('a body that says nothing, or would not be heeded, is refused', async (t) => {
  const { ask } = await startAdmin(t)
  const limits = { perMinute: 5, perDay: 6 }
  const made = await ask('POST', '/admin/keys', { name: 'A', plan: 'free', limits })
  const key = `/admin/keys/${String(json(made)['id'])}`
  const id = String(json(made)['id'])
  for (const [method, path, body, message] of [
    ['PATCH', key, {}, /^No change was given; name at least one setting\.$/],
    ['PATCH', key, '', /^No change was given; name at least one setting\.$/],
    ['PATCH', key, { limits: {} }, /^No change was given; name at least one setting\.$/],
    ['PATCH', key, { limits: 5 }, /limits must be an object, or null, got 5/],
    ['PATCH', key, { methods: [] }, /methods must be a list of at least one text, or null/],
    ['POST', '/admin/keys', { name: 'B', plan: 'free', paths: [] }, /paths must be a list of at/],
    ['PUT', `/admin/bans/${id}`, { for: '0s' }, /for must be a duration such as 30m or 24h/],
    ['POST', `${key}/revoke`, { at: '2030-01-01' }, /takes no body/],
    ['POST', `${key}/disable`, { for: '1h' }, /takes no body/],
    ['DELETE', `/admin/bans/${id}`, '[]', /takes no body/],
    ['POST', `/admin/quota/${id}/reset`, { window: 'day' }, /takes no body/],
    ['POST', '/admin/config/reload', 'plans: {}', /takes no body/],
  ] as const) {
    const answer = json(await ask(method, path, body))
    t.match(answer, { code: 'invalid_request', message, status: 400 }, `${method} ${path}`)
  }
  t.match(json(await ask('GET', key)), { state: 'active', limits })
  t.equal(JSON.parse((await ask('GET', '/admin/audit')).text).length, 1, 'nothing was done')
  t.notOk('limits' in json(await ask('PATCH', key, { limits: null })), 'all are taken away')
  t.match(json(await ask('POST', `${key}/disable`, {})), { state: 'disabled' })
})

t.test('a body of another type or encoding is refused, and told what to send', async (t) => {
  const { ask } = await startAdmin(t)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const [path, types] of [
    ['/admin/keys', 'application/json'],
    ['/admin/keys/import', 'text/csv or application/x-ndjson or text/plain or application/json'],
    ['/admin/config/check', 'application/yaml or text/yaml or text/plain or application/json'],
  ] as const) {
    const message = `Send the body as ${types}.`
    const expected = { code: 'unsupported_media_type', message, status: 415 }
    t.strictSame(json(await ask('POST', path, 'a=b', form)), expected, path)
    const latin1 = Buffer.from('{ "name": "M\u00fcller", "plan": "free" }', 'latin1')
    t.match(json(await ask('POST', path, latin1)), { message: /isn’t in UTF-8/, status: 400 }, path)
  }
  const csv = { 'content-type': 'text/csv' }
  t.equal((await ask('POST', '/admin/keys', '{"name":"A","plan":"free"}', csv)).status, 415)
  t.equal((await ask('POST', '/admin/config/reload', '', form)).status, 200, 'none is of any type')
  const lines =
    '{"token":"an-older-1","plan":"free"}\n{"token":"an-older-2","plan":"pro","name":"Müller"}'
  const ndjson = { 'content-type': 'application/x-ndjson; charset=utf-8' }
  t.strictSame(json(await ask('POST', '/admin/keys/import', lines, ndjson)), { imported: 2 })
  t.match((await ask('GET', '/admin/keys?plan=pro')).text, /"name":"Müller"/)
})

t.test('an import of nothing, or beside another one, is refused', async (t) => {
  const redis = await startRedis(t)
  const { ask } = await startAdmin(t, { store: `redis: "${redis.url}"` })
  const csv = { 'content-type': 'text/csv' }
  const put = async (rows: readonly string[]) =>
    json(await ask('POST', '/admin/keys/import', ['token,plan', ...rows].join('\n'), csv))
  await until(async () => (await ask('GET', '/admin/keys')).status === 200)
  t.match(await put([]), { status: 400, message: /has no rows below the names of its columns\.$/ })
  const many = Array.from({ length: 501 }, (_, i) => `an-older-token-${i},free`)
  await redis.client.set('tollgate:{keys}:import', 'another', 'PX', 60_000)
  const message = 'Another import is running; wait until it has ended.'
  t.strictSame(await put(many), { code: 'conflict', message, status: 409 })
  await redis.client.del('tollgate:{keys}:import')
  t.strictSame(await put(many), { imported: 501 })
})

t.test('a would-be backend is compared as a client would', async (t) => {
  const { signatureHeader, signatureRefused } = await import('../../shared/signature.ts')
  const typed = (type: string) =>
    startUpstream(t, (_request, response) =>
      response.setHeader('content-type', type).end('{"a":1}'),
    )
  const present = await typed('application/json; charset=utf-8')
  const { ask } = await startAdmin(t, {
    upstream: present,
    upstreamMore: 'probes: [ { request: GET /v1/pets } ]',
  })
  const breaks = async (url: string) => {
    const { findings } = json(await ask('POST', '/admin/upstreams/check', { url }))
    return (findings as { breaks: string[] }[]).flatMap((finding) => finding.breaks)
  }
  for (const [type, told] of [
    ['application/json', []],
    ['Application/JSON;charset="UTF-8"', []],
    ['application/json; version=2', []],
    ['application/json; charset=latin1', ['the charset is latin1, not utf-8']],
    ['text/html; charset=utf-8', ['the type is text/html, not application/json']],
  ] as const) {
    t.strictSame(await breaks((await typed(type)).url), told, type)
  }
  const strict = await startUpstream(t, (_request, response) =>
    response.setHeader(signatureHeader, signatureRefused).writeHead(403).end('{}'),
  )
  t.match(await breaks(strict.url), [/^it takes nothing unsigned: set GATEWAY_SECRET/])
  const { ask: asked } = await startAdmin(t, {
    upstream: strict,
    upstreamMore: 'probes: [ { request: GET /v1/pets } ]',
  })
  const { findings } = json(await asked('POST', '/admin/upstreams/check', { url: present.url }))
  t.match(findings, [{}, { breaks: [/^the present backend takes nothing unsigned/] }])
  const dead = 'http://127.0.0.1:1'
  const { ask: uncompared } = await startAdmin(t, {
    upstream: { url: dead, seen: [] },
    upstreamMore: 'probes: [ { request: GET /v1/pets } ]',
  })
  t.match(json(await uncompared('POST', '/admin/upstreams/check', { url: present.url })), {
    present: dead,
    fit: false,
    findings: [
      { compared: true },
      { breaks: [], compared: false, note: new RegExp(`backend ${dead} does not answer`) },
    ],
  })
})

t.test('a backend that nobody can connect to is not fit, even if nothing is probed', async (t) => {
  const { ask, gateway } = await startAdmin(t)
  const check = async (url: string) => json(await ask('POST', '/admin/upstreams/check', { url }))
  const probe = 'a connection'
  t.match(await check(gateway.upstream.url), {
    fit: true,
    findings: [{ probe, got: 'accepted', breaks: [] }],
  })
  t.match(await check('http://127.0.0.1:1'), {
    fit: false,
    findings: [{ probe, got: /ECONNREFUSED/, breaks: ['it would be taken out'] }],
  })
})
