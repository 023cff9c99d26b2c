import { connect } from 'node:net'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { newKeyId, newToken } from '../../../gateway/front/keys/token.ts'
import { startGateway } from '../../support/gateway.ts'
import { json, raw, type Answer } from '../../support/http.ts'
import { isRefused } from '../../support/refusals.ts'

const minute = 60_000

t.test('who has a key is let through, and the backend is told who it is', async (t) => {
  const { call, key, upstream } = await startGateway(t)
  const { headers, key: acme } = await key({ name: 'Acme', plan: 'pro' })
  const forged = { ...headers, 'x-caller-id': 'boss', cookie: 'a=b', 'x-request-id': 'r-1' }
  const answer = await call('GET', '/v1/pets?limit=1', undefined, forged)
  t.equal(answer.status, 200)
  t.equal(answer.text, '{"up":"stream"}')
  t.equal(answer.headers['x-request-id'], 'r-1')
  const [request] = upstream.seen
  t.equal(request?.url, '/v1/pets?limit=1')
  t.match(request?.headers, {
    'x-caller-id': acme.id,
    'x-caller-plan': 'pro',
    'x-request-id': 'r-1',
  })
  t.equal(request?.headers.authorization, undefined)
  t.equal(request?.headers.cookie, undefined)
  isRefused(t, await call('GET', '/nowhere', undefined, headers), 404, 'not_found')
})

t.test('the Authorization header is read strictly', async (t) => {
  const { call, key, url, upstream } = await startGateway(t, {
    more: 'strangers: { perMinute: 1000, perDay: 1000 }',
  })
  const { token } = await key()
  const authorized = (authorization: string) =>
    call('GET', '/v1/pets', undefined, { authorization })

  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer ']) {
    t.equal((await authorized(`${scheme} ${token}`)).status, 200, scheme)
  }
  const missing = await call('GET', '/v1/pets')
  isRefused(t, missing, 401, 'missing_api_key')
  t.equal(missing.headers['www-authenticate'], 'Bearer realm="tollgate"')
  t.equal(missing.headers['cache-control'], 'no-store')
  for (const value of [
    token,
    `Basic ${token}`,
    `Bearer${token}`,
    'Bearer',
    `Bearer ${token} x`,
    `Bearer ${token},`,
    `Bearer "${token}"`,
    `Bearer ${token}\u00e9`,
    `Bearer ${'a'.repeat(513)}`,
    `Token ${token}`,
    `Bearer =${token}`,
  ]) {
    const answer = await authorized(value)
    isRefused(t, answer, 401, 'invalid_api_key')
    t.equal(answer.headers['www-authenticate'], 'Bearer realm="tollgate", error="invalid_token"')
  }
  const two = `Authorization: Bearer ${token}\r\n`
  t.match(
    await raw(url, `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${two}${two}Connection: close\r\n\r\n`),
    /^HTTP\/1\.1 401/,
  )
  for (const path of [`/v1/pets?api_key=${token}`, `/v1/pets?access_token=${token}`]) {
    isRefused(
      t,
      await call('GET', path, undefined, { cookie: `token=${token}`, 'x-api-key': token }),
      401,
      'missing_api_key',
    )
  }
  t.equal(upstream.seen.length, 5, 'and nothing of it reached the backend')
})

t.test(
  'expired, disabled, revoked, rotated away, mistyped and invented keys look the same',
  async (t) => {
    let now = Date.now()
    const { call, key, desk } = await startGateway(t, {
      clock: () => now,
      more: 'strangers: { perMinute: 1000, perDay: 1000 }',
    })
    const [expired, disabled, revoked, rotated] = await Promise.all([
      key({ expiresAtMs: now + minute }),
      key(),
      key(),
      key(),
    ])
    const ask = (headers: { authorization: string }) => call('GET', '/v1/pets', undefined, headers)
    for (const { headers } of [expired, disabled, revoked, rotated])
      t.equal((await ask(headers)).status, 200)

    now += minute
    await desk.edit(disabled.key.id, desk.disabling(true))
    await desk.edit(revoked.key.id, desk.revoking())
    const next = await desk.rotate(rotated.key.id, 0)
    const mistyped = rotated.token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
    const invented = newToken(newKeyId())
    const refused = [
      expired.token,
      disabled.token,
      revoked.token,
      rotated.token,
      mistyped,
      invented,
      'tg_',
      'x',
    ]
    const answers = await Promise.all(
      refused.map((token) => ask({ authorization: `Bearer ${token}` })),
    )
    const shapes = answers.map(({ status, text, headers }) => {
      const { date, 'x-request-id': id, 'x-ratelimit-remaining': left, ...others } = headers
      t.ok(date && id && left)
      return JSON.stringify({ status, text, others })
    })
    isRefused(t, answers[0] as Answer, 401, 'invalid_api_key')
    t.equal(new Set(shapes).size, 1, 'byte for byte')
    t.equal((await ask({ authorization: `Bearer ${next.token}` })).status, 200)
    await desk.edit(disabled.key.id, desk.disabling(false))
    t.equal((await ask(disabled.headers)).status, 200, 'an enabled key is back at once')
  },
)

t.test('a rotated key keeps its old token for the overlap, and only the last two', async (t) => {
  let now = Date.now()
  const { call, key, desk } = await startGateway(t, { clock: () => now })
  const first = await key()
  const second = await desk.rotate(first.key.id, minute)
  const works = async (token: string) =>
    (await call('GET', '/v1/pets', undefined, { authorization: `Bearer ${token}` })).status === 200
  t.ok((await works(first.token)) && (await works(second.token)))
  now += minute - 1
  t.ok(await works(first.token), 'to the last millisecond')
  const third = await desk.rotate(first.key.id, minute)
  t.notOk(await works(first.token), 'the one before the last ends with the next rotation')
  t.ok((await works(second.token)) && (await works(third.token)))
  now += minute
  t.notOk(await works(second.token))
  t.ok(await works(third.token))
})

t.test('a key that is restricted gets 403 for anything else', async (t) => {
  const { call, key } = await startGateway(t)
  const allowed = async (settings: object, method: string, path: string) => {
    const { headers } = await key(settings)
    const answer = await call(method, path, undefined, headers)
    if (answer.status !== 200) isRefused(t, answer, 403, 'forbidden')
    return answer.status === 200
  }
  t.ok(await allowed({ methods: ['GET', 'HEAD'] }, 'GET', '/v1/pets'))
  t.notOk(await allowed({ methods: ['GET', 'HEAD'] }, 'DELETE', '/v1/pets/1'))
  t.ok(await allowed({ paths: ['/v1/pets', '/v1/pets/{petId}'] }, 'GET', '/v1/pets/1?x=/v1/store'))
  for (const path of ['/v1/store/orders', '/v1/pets/1/x', '/v1/pets/', '/V1/pets']) {
    t.notOk(await allowed({ paths: ['/v1/pets', '/v1/pets/{petId}'] }, 'GET', path), path)
  }
  t.ok(await allowed({ paths: ['/v1/pets'] }, 'GET', '/v1/%70ets'), 'a spelling of the same path')
  t.ok(await allowed({ paths: ['/v1/pets/*'] }, 'GET', '/v1/pets/1/x'))
  t.notOk(await allowed({ paths: ['/v1/pets/*'] }, 'GET', '/v1/petshop'))
  t.ok(await allowed({ addresses: ['127.0.0.0/8'] }, 'GET', '/v1/pets'))
  t.notOk(await allowed({ addresses: ['10.0.0.0/8', '2001:db8::/32'] }, 'GET', '/v1/pets'))
})

t.test('a refusal comes before the body is read, and arrives', async (t) => {
  const { url } = await startGateway(t)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.write(
    'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{',
  )
  const answer = await new Promise<string>((resolve) =>
    socket.once('data', (data) => resolve(data.toString())),
  )
  t.match(answer, /^HTTP\/1\.1 401/)
})

t.test('a key whose plan is gone, or that a store cannot check', async (t) => {
  const { call, key, stores } = await startGateway(t)
  const { headers, key: record } = await key()
  const { headers: unmet } = await key()
  const { version } = (await stores.keys.get(record.id)) ?? { version: 0 }
  await stores.keys.replace({ ...record, plan: 'gone' }, version)
  isRefused(t, await call('GET', '/v1/pets', undefined, headers), 403, 'forbidden')
  stores.keys.find = () => Promise.reject(new Error('out of reach'))
  // Nobody but the store can say whose token this is, that wasn't met yet.
  const unchecked = await call('GET', '/v1/pets', undefined, unmet)
  isRefused(t, unchecked, 503, 'service_unavailable')
  t.equal(unchecked.headers['retry-after'], '5')
  stores.keys.find = () => {
    throw new Error('out of reach')
  }
  t.equal((await call('GET', '/v1/pets', undefined, unmet)).status, 503)
})

t.test('a damaged record hurts its own key alone', async (t) => {
  const { call, key, stores, desk } = await startGateway(t)
  const [good, bad] = [await key(), await key()]
  const damaged = { ...bad.key, addresses: ['nonsense'] }
  const { version = 0 } = (await stores.keys.get(bad.key.id)) ?? {}
  await stores.keys.replace(damaged, version)
  t.equal((await call('GET', '/v1/pets', undefined, bad.headers)).status, 500)
  t.equal((await call('GET', '/v1/pets', undefined, good.headers)).status, 200)
  t.equal((await desk.show(good.key.id)).id, good.key.id)
})

t.test('the check of a token is the CRC-32 of all before it, in base62', (t) => {
  // Written out: operators teach their secret scanners this form.
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  for (let i = 0; i < 50; i++) {
    const token = newToken(newKeyId())
    t.match(token, /^tg_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/)
    const value = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + alphabet.indexOf(digit), 0)
    t.equal(value, crc32(token.slice(0, -6)))
  }
  t.end()
})

t.test('a key whose plan is gone is refused, is no stranger, and fills no log', async (t) => {
  let now = Date.UTC(2026, 5, 15, 12)
  const written: string[] = []
  const gateway = await startGateway(t, {
    clock: () => now,
    more: 'strangers: { perMinute: 2, perDay: 10 }',
    log: { level: 'error', target: { write: (line: string) => void written.push(line) } },
  })
  const { headers } = await gateway.key({ plan: 'pro' })
  const plans = new Map([...gateway.config.plans].filter(([name]) => name !== 'pro'))
  await gateway.app.change({ ...gateway.config, plans })
  const ask = async () => {
    const answer = await gateway.call('GET', '/v1/pets', undefined, headers)
    isRefused(t, answer, 403, 'forbidden')
    t.equal(answer.headers['x-ratelimit-remaining'], '2')
  }
  for (let i = 0; i < 5; i++) await ask()
  t.equal(written.length, 1)
  now += 60_000
  await ask()
  t.match(written[1], /the plan of a key is not in the configuration/)
  t.match(json(written[1] ?? ''), { plan: 'pro', droppedLines: 4 })
})

t.test('a key that is not sent as one Bearer is told what to write', async (t) => {
  const { call, key } = await startGateway(t)
  const { token } = await key()
  const sentence = /^Write your API key after the word Bearer, in one header/
  for (const authorization of [
    token,
    newToken(newKeyId()),
    'a key of another gateway',
    `Basic ${token}`,
    `Token ${token}`,
    `Bearer: ${token}`,
    `Bearer "${token}"`,
  ]) {
    const answer = await call('GET', '/v1/pets', undefined, { authorization })
    isRefused(t, answer, 401, 'invalid_api_key')
    t.match(json(answer)['message'], sentence, authorization)
  }
  const mistyped = await call('GET', '/v1/pets', undefined, { authorization: `Bearer ${token}x` })
  t.equal(json(mistyped)['message'], 'The API key is not valid.')
})
