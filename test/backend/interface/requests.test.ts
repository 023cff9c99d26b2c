import { createHmac } from 'node:crypto'
import { digestOf } from '../../../shared/content-digest.ts'
import { signedHeaders } from '../../support/signed.ts'
import t from 'tap'
import { isError } from '../../support/backend-errors.ts'
import { startStore } from '../../support/backend.ts'
import { json, raw } from '../../support/http.ts'

t.test('bodies are checked, never coerced', async (t) => {
  const { call } = await startStore(t)
  const refused = async (body: string | Buffer, sentence: RegExp, headers = {}) =>
    isError(t, await call('POST', '/v1/pets', body, headers), 400, 'invalid_request', sentence)

  await refused('{}', /^name is missing: it must be text of 1 to 255 characters/)
  await refused('{"name":"x"}', /^categoryId is missing/)
  await refused('{"name":5,"categoryId":1}', /^name must be text of 1 to 255 characters, got 5/)
  await refused('{"name":"  ","categoryId":1}', /^name must be/)
  await refused(`{"name":"${'x'.repeat(256)}","categoryId":1}`, /^name must be/)
  await refused('{"name":"\\ud800","categoryId":1}', /^name must be/)
  await refused(
    '{"name":"x","categoryId":1,"status":"lost"}',
    /^status must be one of available, pending, sold, got "lost"/,
  )
  await refused('{"name":"x","categoryId":1,"status":null}', /^status/)
  await refused('', /^Send a JSON object as the body/)
  await refused('nonsense', /not valid JSON/)
  await refused('{"name":"x","categoryId":1', /not valid JSON/)
  await refused('[]', /must be a JSON object/)
  await refused('"text"', /must be a JSON object/)
  await refused('{"name":"x","name":"y","categoryId":1}', /names "name" twice/)
  await refused(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), /not valid UTF-8/)
  await refused(`{"name":${'['.repeat(31)}${']'.repeat(31)},"categoryId":1}`, /^name must be text/)
  await refused(`${'['.repeat(32)}`, /not valid JSON/)
  await refused('{"__proto__":{"name":"x","categoryId":1}}', /^name is missing/)

  const added = async (body: string | Buffer, name: string, headers = {}) => {
    const answer = await call('POST', '/v1/pets', body, headers)
    t.equal(answer.status, 201)
    t.equal(json(answer)['name'], name)
  }
  await added('{"name":"x","categoryId":1,"unknown":{"deep":[1,{}]},"id":77}', 'x')
  await added('{"name":"x","categoryId":1,"__proto__":{"status":"sold"},"constructor":1}', 'x')
  await added(`{"name":"x","categoryId":1,"z":${'['.repeat(31)}${']'.repeat(31)}}`, 'x')
  await added(Buffer.from('\ufeff{"name":"BOM","categoryId":1}'), 'BOM')
  await added('{"name":"utf8","categoryId":1}', 'utf8', {
    'content-type': 'application/json; charset=UTF-8',
  })
  await added('{"name":"a\\u0000\\"\\\\b 😀","categoryId":1}', 'a\u0000"\\b 😀')
  await added(`{"name":"${'😀'.repeat(255)}","categoryId":1}`, '😀'.repeat(255))

  const typed = (type: string) =>
    call('POST', '/v1/pets', '{"name":"x","categoryId":1}', { 'content-type': type })
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'nonsense',
    'application/jsonx',
  ]) {
    isError(t, await typed(type), 415, 'unsupported_media_type')
  }
  isError(
    t,
    await call('POST', '/v1/pets', `{"name":"${'x'.repeat(1024 * 1024)}"`),
    413,
    'payload_too_large',
  )
  const ofSize = (bytes: number) => `{"name":"x","categoryId":1,"x":"${'x'.repeat(bytes - 34)}"}`
  t.equal((await call('POST', '/v1/pets', ofSize(64 * 1024))).status, 201, '64 KiB are taken')
  isError(t, await call('POST', '/v1/pets', ofSize(64 * 1024 + 1)), 413, 'payload_too_large')
  const nested = (levels: number) =>
    `{"name":"x","categoryId":1,"x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  t.equal((await call('POST', '/v1/pets', nested(32))).status, 201, '32 levels are taken')
  isError(
    t,
    await call('POST', '/v1/pets', nested(33)),
    400,
    'invalid_request',
    /more than 32 levels of objects and lists/,
  )
  t.equal((await call('GET', '/v1/pets')).status, 200, 'and the service is well')
})

t.test('paths, methods and what is no HTTP', async (t) => {
  const { call, url } = await startStore(t)
  for (const path of [
    '/',
    '/v1',
    '/v1/pet',
    '/v1/pets/',
    '/v1/pets/1/x',
    '/v1/store',
    '/V1/pets',
  ]) {
    isError(t, await call('GET', path), 404, 'not_found')
  }
  for (const [method, path, allow] of [
    ['DELETE', '/v1/pets', 'GET, HEAD, POST'],
    ['OPTIONS', '/v1/pets', 'GET, HEAD, POST'],
    ['POST', '/v1/pets/1?x=1', 'DELETE, GET, HEAD, PATCH, PUT'],
    ['PUT', '/v1/store/orders', 'GET, HEAD, POST'],
    ['PATCH', '/v1/store/orders/1', 'GET, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['PROPFIND', '/v1/pets', 'GET, HEAD, POST'],
  ] as const) {
    const answer = await call(method, path)
    isError(t, answer, 405, 'method_not_allowed')
    t.equal(answer.headers['allow'], allow)
  }
  t.strictSame(json(await call('GET', '/healthz')), { status: 'ok' })
  isError(t, await call('GET', '/v1/%zz'), 400, 'invalid_request', /path of the URL is malformed/)
  const nonsense = await raw(url, 'nonsense\r\n\r\n')
  t.match(nonsense, /^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/json/)
  t.match(nonsense, '"code":"invalid_request"')
  const large = await raw(
    url,
    `GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
  )
  t.match(large, /^HTTP\/1\.1 431 .*"code":"headers_too_large"/s)
})

t.test('with a secret, only what the gateway signed is served', async (t) => {
  let now = 1_790_000_000_000
  const { call } = await startStore(t, { secret: 's3cret', clock: () => now })
  // Written out rather than taken from the code: it is the contract with gateways of others.
  const input =
    '("@method" "@path" "@query" "x-request-id" "x-caller-id" "x-caller-plan");created=1790000000;keyid="1ec1c26b50d5";alg="hmac-sha256";tag="tollgate"'
  const text = `"@method": GET
"@path": /v1/pets
"@query": ?limit=5
"x-request-id": req1
"x-caller-id": key1
"x-caller-plan": pro
"@signature-params": ${input}`
  const signature = createHmac('sha256', 's3cret').update(text).digest('base64')
  const headers = {
    'x-caller-id': 'key1',
    'x-caller-plan': 'pro',
    'x-request-id': 'req1',
    'signature-input': `tollgate=${input}`,
    signature: `tollgate=:${signature}:`,
  }
  t.equal((await call('GET', '/v1/pets?limit=5', undefined, headers)).status, 200)
  isError(t, await call('GET', '/v1/pets?limit=5'), 403, 'forbidden', /missing/)
  isError(t, await call('GET', '/v1/pets?limit=6', undefined, headers), 403, 'forbidden', /wrong/)
  isError(
    t,
    await call('GET', '/v1/pets?limit=5', undefined, { ...headers, 'x-caller-plan': 'enterprise' }),
    403,
    'forbidden',
  )
  isError(
    t,
    await call('POST', '/nowhere', 'x', { 'content-type': 'text/plain' }),
    403,
    'forbidden',
  )
  const added = { ...headers, 'x-caller-account': 'zoo' }
  const other = await call('GET', '/v1/pets?limit=5', undefined, added)
  isError(t, other, 403, 'forbidden', /doesn’t cover x-caller-account/)
  t.equal((await call('GET', '/healthz')).status, 200, 'health needs no signature')
  now += 61_000
  isError(
    t,
    await call('GET', '/v1/pets?limit=5', undefined, headers),
    403,
    'forbidden',
    /out of date/,
  )
})

t.test('a signature that was captured is good for its own body alone', async (t) => {
  const { call } = await startStore(t, { secret: 's3cret' })
  const captured = (method: string, target: string, body?: string) =>
    signedHeaders('s3cret', { method, target, body })
  const rex = '{"name":"Rex","categoryId":1}'
  const tom = '{"name":"Tom","categoryId":1}'
  const headers = captured('POST', '/v1/pets', rex)
  t.equal((await call('POST', '/v1/pets', rex, headers)).status, 201)
  for (const [what, body, more] of [
    ['another body', tom, {}],
    ['a longer one', `${rex} `, {}],
    ['one that is no JSON', 'nonsense', {}],
    ['one in other words', tom, { 'content-type': 'application/merge-patch+json' }],
    ['none', '', {}],
    ['none at all', undefined, {}],
  ] as const) {
    const answer = await call('POST', '/v1/pets', body, { ...headers, ...more })
    isError(t, answer, 403, 'forbidden', /for another body/)
    t.equal(answer.headers['x-gateway-signature'], 'refused', what)
  }
  const changed = { ...headers, 'content-digest': digestOf(Buffer.from(tom)) }
  isError(t, await call('POST', '/v1/pets', tom, changed), 403, 'forbidden', /is wrong/)
  const without = { ...headers }
  delete without['content-digest']
  isError(t, await call('POST', '/v1/pets', rex, without), 403, 'forbidden', /malformed/)
  const typed = { ...headers, 'content-type': 'text/plain' }
  isError(t, await call('POST', '/v1/pets', tom, typed), 415, 'unsupported_media_type')
  const old = captured('POST', '/v1/pets')
  t.equal((await call('POST', '/v1/pets', tom, old)).status, 201, 'the form without it is believed')
  const removed = captured('DELETE', '/v1/pets/2', '')
  t.equal((await call('DELETE', '/v1/pets/2', undefined, removed)).status, 204, 'of no body')
  t.match(
    JSON.parse((await call('GET', '/v1/pets', undefined, captured('GET', '/v1/pets'))).text),
    [{ name: 'Rex' }],
  )
})

t.test('a log line a request, without bodies', async (t) => {
  const lines: string[] = []
  const log = { level: 'info', target: { write: (text: string) => lines.push(text) } }
  const { call } = await startStore(t, { log })
  await call('POST', '/v1/pets?x=1', { name: 'Sesame', categoryId: 1 }, { 'x-request-id': 'my-id' })
  await call('POST', '/v1/pets', 'nonsense')
  const [, ...answered] = lines.map(json)
  t.match(answered, [
    {
      level: 30,
      service: 'backend',
      reqId: 'my-id',
      method: 'POST',
      path: '/v1/pets',
      status: 201,
      ms: Number,
    },
    { status: 400 },
  ])
  t.equal(answered.length, 2)
  t.notMatch(lines.join(''), /Sesame|nonsense/)
})
