import t from 'tap'
import { startGateway } from '../../support/gateway.ts'
import { json, type Answer } from '../../support/http.ts'
import { bearer, jwtSection, signingKey, startKeyServer, tokenOf } from '../../support/jwt.ts'

const key = signingKey('ES256')
const path = '/.well-known/oauth-protected-resource'
const routes =
  "[ { path: /v1/*, upstream: animals, scopes: { GET: [ read ], '*': [ read, write ] } }, { path: /v2/*, upstream: animals, scopes: [ admin, read ] } ]"

const challengeOf = ({ headers }: Answer) => String(headers['www-authenticate'])

t.test('whoever is refused for want of a token or a scope is told whom to ask', async (t) => {
  const server = await startKeyServer(t, [key])
  const {
    call,
    url,
    upstream,
    key: make,
  } = await startGateway(t, { routes, more: jwtSection(server.url) })
  const metadata = `resource_metadata="${url}${path}"`
  const ask = (headers = {}, method = 'GET') => call(method, '/v1/x', undefined, headers)
  t.equal(challengeOf(await ask()), `Bearer realm="tollgate", ${metadata}`)
  t.equal(
    challengeOf(await ask(bearer('nonsense'))),
    `Bearer realm="tollgate", error="invalid_token", ${metadata}`,
  )
  const lacks = await ask(bearer(tokenOf(key, { claims: { scope: 'read' } })), 'POST')
  t.equal(lacks.status, 403)
  t.equal(
    challengeOf(lacks),
    `Bearer realm="tollgate", error="insufficient_scope", scope="read write", ${metadata}`,
  )
  const own = await make({ scopes: ['other'] })
  t.match(challengeOf(await ask(own.headers)), metadata, 'also with a key')
  const elsewhere = await make({ addresses: ['10.0.0.1'] })
  const forbidden = await ask(elsewhere.headers)
  t.equal(forbidden.status, 403)
  t.equal(forbidden.headers['www-authenticate'], undefined, 'and of other refusals nobody is')

  const { status, headers, text } = await call('GET', path)
  t.equal(status, 200)
  t.match(headers, { 'cache-control': 'no-store', 'content-type': /^application\/json/ })
  t.strictSame(JSON.parse(text), {
    resource: url,
    authorization_servers: ['https://login.example/'],
    scopes_supported: ['read', 'write', 'admin'],
    bearer_methods_supported: ['header'],
  })
  t.match(
    json(await call('GET', path, undefined, bearer('nonsense'))),
    { resource: url },
    'with a token, too',
  )
  t.equal((await call('POST', path)).status, 405)
  t.equal((await call('GET', `${path}/v1/x`)).status, 401, 'it is one path')

  const named = await call('GET', path, undefined, { host: 'API.Example:8443' })
  t.match(json(named), { resource: 'http://api.example:8443' })
  const lies = {
    host: 'api.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'evil.example',
  }
  t.match(json(await call('GET', path, undefined, lies)), { resource: 'http://api.example' })
  for (const odd of ['a"b', 'a, b', 'a/b@c', '']) {
    t.equal((await call('GET', path, undefined, { host: odd })).status, 400, JSON.stringify(odd))
  }
  t.equal(upstream.seen.length, 0)
})

t.test('a trusted proxy says by which scheme it was asked', async (t) => {
  const server = await startKeyServer(t, [key])
  const more = `trustedProxies: [ 127.0.0.1 ]\n${jwtSection(server.url)}`
  const { call } = await startGateway(t, { more })
  const told = async (proto: string) =>
    json(await call('GET', path, undefined, { host: 'api.example', 'x-forwarded-proto': proto }))
  t.strictSame(await told('https'), {
    resource: 'https://api.example',
    authorization_servers: ['https://login.example/'],
    bearer_methods_supported: ['header'],
  })
  t.match(await told('https, http'), { resource: 'https://api.example' })
  t.match(await told('javascript'), { resource: 'http://api.example' })
})

t.test('it costs nothing, and no address is refused for asking', async (t) => {
  const server = await startKeyServer(t, [key])
  const more = `strangers: { perMinute: 3, perDay: 3 }\n${jwtSection(server.url)}`
  const { call } = await startGateway(t, { more })
  for (let i = 0; i < 10; i++) t.equal((await call('GET', path)).status, 200)
  t.equal((await call('GET', '/v1/x')).headers['x-ratelimit-remaining'], '2')
})

t.test('a gateway of keys alone says nothing of it', async (t) => {
  const { call } = await startGateway(t)
  t.equal(challengeOf(await call('GET', '/v1/x')), 'Bearer realm="tollgate"')
  t.equal((await call('GET', path)).status, 401)
})
