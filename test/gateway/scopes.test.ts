import Fastify from 'fastify'
import t from 'tap'
import tollgate from '../../gateway/index.ts'
import { startAdmin } from '../support/admin.ts'
import { explanationOf } from '../support/explained.ts'
import { json } from '../support/http.ts'
import { bearer, jwtSection, signingKey, startKeyServer, tokenOf } from '../support/jwt.ts'
import { until } from '../support/until.ts'
import { ofToken, startOwnCallers } from '../support/own-callers.ts'

const routes = `
  - { path: /v1/pets, upstream: animals, scopes: { GET: [pets:read], '*': [pets:read, pets:write] } }
  - { path: '/v1/pets/{petId}', upstream: animals, cost: 90, scopes: { HEAD: [], '*': [pets:write] } }
  - { path: /v1/open, upstream: animals, scopes: [] }
  - { path: /v1/*, upstream: animals }
  - { path: /v1/all/*, upstream: animals, scopes: [pets:read] }
`

t.test(
  'a key needs the scopes of a method, and lacks nothing without scopes of its own',
  async (t) => {
    const { gateway } = await startAdmin(t, { routes })
    const reader = await gateway.key({ scopes: ['pets:read'] })
    const writer = await gateway.key({ scopes: ['pets:write', 'pets:read'] })
    const whole = await gateway.key()
    const status = async (who: typeof reader, method: string, path = '/v1/pets') =>
      (await gateway.call(method, path, undefined, who.headers)).status
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']) {
      const isRead = method === 'GET' || method === 'HEAD'
      t.equal(await status(reader, method), isRead ? 200 : 403, method)
      t.equal(await status(writer, method), 200, method)
      t.equal(await status(whole, method), 200, method)
    }
    t.equal(await status(reader, 'POST', '/v1/open'), 200)
    t.equal(await status(reader, 'POST', '/v1/others'), 200)
    t.equal(await status(await gateway.key({ scopes: ['other'] }), 'GET', '/v1/all/x'), 403)
    t.equal(await status(reader, 'HEAD', '/v1/pets/1'), 403, 'its cost is told behind the scope')
    t.equal(await status(reader, 'PROPFIND'), 405, 'no method of the route')
  },
)

t.test('a path that can be read in several ways needs the scopes of each reading', async (t) => {
  const { gateway } = await startAdmin(t, {
    routes: `
  - { path: /v1/*, upstream: animals }
  - { path: '/v1/a,b', upstream: animals, scopes: [one] }
`,
  })
  const { headers } = await gateway.key({ scopes: ['two'] })
  for (const path of ['/v1/a,b', '/v1/a%2Cb', '/v1/a%2cb']) {
    t.equal((await gateway.call('GET', path, undefined, headers)).status, 403, path)
  }
})

t.test('a lack is 403 with a challenge, uncounted, and explained', async (t) => {
  const { gateway, ask } = await startAdmin(t, { routes })
  const { headers, key } = await gateway.key({ name: 'Reader', scopes: ['pets:read', 'x'] })
  const answer = await gateway.call('POST', '/v1/pets', undefined, headers)
  t.match(answer, {
    status: 403,
    headers: {
      'www-authenticate':
        'Bearer realm="tollgate", error="insufficient_scope", scope="pets:read pets:write"',
      'x-ratelimit-remaining': '60',
    },
  })
  t.match(json(answer), {
    code: 'forbidden',
    message:
      "This request needs the scopes pets:read and pets:write. Your key doesn't have all of them.",
  })
  const explained = await explanationOf(ask, answer)
  t.match(explained, {
    ...{ reason: 'scope', needs: ['pets:read', 'pets:write'], has: ['pets:read', 'x'], cost: 0 },
    sentence: 'The route needs pets:read and pets:write; the key “Reader” has pets:read, x.',
  })
  const whole = await gateway.key({ limits: { perMinute: 1 } })
  await gateway.call('GET', '/v1/pets', undefined, whole.headers)
  const over = await gateway.call('GET', '/v1/pets', undefined, whole.headers)
  t.match(await explanationOf(ask, over), { reason: 'minute', needs: ['pets:read'], has: null })
  await ask('PUT', `/admin/bans/${key.id}`, { for: '1h' })
  await until(async () => {
    const banned = await gateway.call('POST', '/v1/pets', undefined, headers)
    return json(banned)['code'] === 'key_banned'
  })
})

t.test('a key gets scopes by its settings, and all again without them', async (t) => {
  const { gateway, ask } = await startAdmin(t, { routes })
  const made = await ask('POST', '/admin/keys', { name: 'A', plan: 'free', scopes: ['pets:read'] })
  const { id, key: token } = json(made) as { id: string; key: string }
  const status = async () =>
    (await gateway.call('POST', '/v1/pets', undefined, bearer(token))).status
  t.equal(await status(), 403)
  for (const scopes of [
    ['a b'],
    [''],
    ['"'],
    ['ü'],
    ['a'.repeat(101)],
    Array.from({ length: 51 }, (_, i) => `s${i}`),
  ]) {
    t.match(await ask('PATCH', `/admin/keys/${id}`, { scopes }), { status: 400 }, String(scopes))
  }
  t.match(json(await ask('PATCH', `/admin/keys/${id}`, { scopes: ['pets:read', 'pets:write'] })), {
    scopes: ['pets:read', 'pets:write'],
  })
  await until(async () => (await status()) === 200)
  const rotated = json(await ask('POST', `/admin/keys/${id}/rotate`, { overlap: '1h' }))
  const again = String(rotated['key'])
  t.equal((await gateway.call('POST', '/v1/pets', undefined, bearer(again))).status, 200)
  await ask('PATCH', `/admin/keys/${id}`, { scopes: ['x'] })
  await until(async () => (await status()) === 403)
  t.notMatch(json(await ask('PATCH', `/admin/keys/${id}`, { scopes: null })), { scopes: [] })
  await until(async () => (await status()) === 200)
})

t.test('a JWT has the scopes of its claim, and none without one', async (t) => {
  const key = signingKey('ES256')
  const server = await startKeyServer(t, [key])
  const { gateway, ask } = await startAdmin(t, {
    routes,
    more: jwtSection(server.url, 'plan: free'),
  })
  let count = 0
  const called = async (claims: object, method = 'GET', path = '/v1/pets') =>
    gateway.call(
      method,
      path,
      undefined,
      bearer(tokenOf(key, { claims: { ...claims, n: count++ } })),
    )
  const let_in: readonly object[] = [
    { scope: 'pets:read' },
    { scope: ' a  pets:read b' },
    { scope: ['pets:read'] },
    { scp: 'x pets:read' },
    { scp: ['x', 'pets:read'] },
    { scope: null, scp: ['pets:read'] },
  ]
  for (const claims of let_in) t.equal((await called(claims)).status, 200, JSON.stringify(claims))
  const lacking: readonly object[] = [
    {},
    { scope: '' },
    { scope: 'pets' },
    { scope: 'pets:reader' },
    { scope: '', scp: 'pets:read' },
    { scope: ['x pets:read'] },
    { scopes: 'pets:read' },
    { scope: null },
  ]
  for (const claims of lacking) t.equal((await called(claims)).status, 403, JSON.stringify(claims))
  for (const scope of [7, true, { a: 1 }, ['pets:read', 7], [['pets:read']]]) {
    const answer = await called({ scope })
    t.equal(answer.status, 401, JSON.stringify(scope))
    t.match(await explanationOf(ask, answer), { reason: 'jwt_claim' })
    t.equal((await called({ scope }, 'GET', '/v1/others')).status, 200, 'nothing is needed there')
  }
})

t.test('scopes come from another claim; those of its record restrict them', async (t) => {
  const key = signingKey('ES256')
  const server = await startKeyServer(t, [key])
  const more = jwtSection(server.url, 'plan: free, scopes: /app/rights')
  const { gateway, ask } = await startAdmin(t, { routes, more })
  const claims = { scope: 'other', app: { rights: ['pets:read', 'pets:write'] } }
  const headers = bearer(tokenOf(key, { claims }))
  const status = async () => (await gateway.call('POST', '/v1/pets', undefined, headers)).status
  t.equal(await status(), 200)
  const id = String(gateway.upstream.seen.at(-1)?.headers['x-caller-id'])
  await ask('PATCH', `/admin/keys/${id}`, { scopes: ['pets:read'] })
  await until(async () => (await status()) === 403)
})

t.test(
  'a guarded route of an app needs scopes, of keys and of callers that the app knows',
  async (t) => {
    const { app, ask } = await startOwnCallers(t, {
      callers: (token) => {
        const own = ofToken(token)
        return own && { ...own, ...(token === 'of-reader' && { scopes: ['pets:read'] }) }
      },
    })
    app.get('/needy', { config: { tollgate: true, scopes: ['pets:write'] } }, () => 'ok')
    t.equal((await ask('of-reader')).statusCode, 200)
    const lacking = await ask('of-reader', '/needy')
    t.match(lacking, {
      statusCode: 403,
      headers: { 'www-authenticate': /insufficient_scope", scope="pets:write"$/ },
    })
    t.equal((await ask('of-whole', '/needy')).statusCode, 200)
  },
)

t.test('config.scopes that can’t be is a mistake of the route', async (t) => {
  for (const config of [
    { tollgate: true, scopes: ['a b'] },
    { tollgate: true, scopes: 'pets:write' as unknown as string[] },
    { tollgate: 'open', scopes: ['a'] },
    { tollgate: 'quota', scopes: ['a'] },
  ] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(tollgate, {
      config: { plans: { free: { perMinute: 1, perDay: 1 } }, store: { file: ':memory:' } },
    })
    t.throws(
      () => app.get('/x', { config: { ...config } }, () => ''),
      /config\.scopes must be a list/,
    )
  }
})
