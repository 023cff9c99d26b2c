import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { messagesOf } from '../../support/configuration.ts'
import { startForCaller } from '../../support/first-caller.ts'
import { configFor, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'

const routes = `
  - { path: /app/*, upstream: animals, rewrite: / }
  - { path: /app, upstream: animals }
  - { path: /deep/app/*, upstream: animals, methods: [ GET ], rewrite: / }
  - { path: /deep/app, upstream: animals, methods: [ GET ] }
  - { path: /slash/, upstream: animals, rewrite: / }
  - { path: /only, upstream: animals, rewrite: / }
  - { path: /bare/*, upstream: animals, rewrite: /* }
  - { path: /bare, upstream: animals }
  - { path: '/größe,x/*', upstream: animals, rewrite: /s/* }
`

t.test('a prefix is taken away, and the prefix alone leads to /', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    response.setHeader('location', request.headers['x-location'] ?? '/').end(request.url)
  })
  const { call, headers, get } = await startForCaller(t, { upstream, routes })
  for (const [path, asked] of [
    ['/app/a%20b/c?x=/app/', '/a%20b/c?x=/app/'],
    ['/app/app/', '/app/'],
    ['/app/', '/'],
    ['/app', '/'],
    ['/app?x=1', '/?x=1'],
    ['/deep/app/x', '/x'],
    ['/deep/app', '/'],
    ['/slash/?x', '/?x'],
    ['/only?x', '/?x'],
    ['/bare/x', '/x'],
    ['/bare', '/bare'],
    ['/gr%C3%B6%c3%9Fe%2Cx/%C3%B6%2C', '/s/%C3%B6%2C'],
  ] as const) {
    t.equal((await get(path)).text, asked, path)
  }
  t.equal((await get('/only/')).status, 404)
  t.equal((await get('/app//x')).status, 400)
  for (const [path, sent, told] of [
    ['/app/a', '/login?to=/', '/app/login?to=/'],
    ['/app', '/login', '/app/login'],
    ['/app', `${upstream.url}/`, '/app/'],
    ['/app', upstream.url, '/app/'],
    ['/app', '//evil.example/', '//evil.example/'],
    ['/slash/', '/x', '/slash/x'],
    ['/only', '/x', '/only/x'],
    ['/bare', '/x', '/x'],
  ] as const) {
    const answer = await call('GET', path, undefined, { ...headers, 'x-location': sent })
    t.equal(answer.headers['location'], told, `${path}: ${sent}`)
  }
})

t.test(
  'a path alone is rewritten to nothing but /, and beside its own upstream only',
  async (t) => {
    const wrong = '[ { path: /a, upstream: animals, rewrite: /b/* } ]'
    t.match(messagesOf(configFor('http://127.0.0.1:1', 'file: x.db', { routes: wrong })), [
      /routes\[0\]\.rewrite needs a path that ends in \/\*, or must be \/$/,
    ])
    const upstream = await startUpstream(t, (request, response) => response.end(request.url))
    const { get } = await startForCaller(t, {
      upstream,
      upstreamMore: `maxInFlight: 9 }, others: { targets: [ "${upstream.url}" ]`,
      routes: `
  - { path: /app/*, upstream: animals, rewrite: / }
  - { path: /app, upstream: others }
`,
    })
    t.equal((await get('/app')).text, '/app')
    t.equal((await get('/app/x')).text, '/x')
  },
)

t.test('probes ask for what a rewritten path leads to', async (t) => {
  const [present, next] = [await startUpstream(t), await startUpstream(t)]
  const { ask } = await startAdmin(t, {
    upstream: present,
    routes,
    upstreamMore: 'probes: [ { request: GET /app?x=1 }, { request: HEAD /app/x } ]',
  })
  const checked = await ask('POST', '/admin/upstreams/check', { url: next.url })
  t.match(json(checked), { fit: true })
  t.strictSame(
    next.seen.map(({ url }) => url),
    ['/?x=1', '/x'],
  )
})
