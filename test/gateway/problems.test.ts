import t from 'tap'
import { tollgate, type Refused } from '../../gateway/plugin.ts'
import { prefersProblems } from '../../shared/problem.ts'
import { startAdmin } from '../support/admin.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { json, type Answer } from '../support/http.ts'
import { startApp } from '../support/plugin.ts'

const accept = 'application/problem+json'
const problemType = `${accept}; charset=utf-8`

function typeOf({ headers }: Answer): unknown {
  return headers['content-type']
}

t.test('RFC 9457, 3: a refusal is problem details for those who prefer them', async (t) => {
  const { call, key } = await startGateway(t, { clock: () => Date.UTC(2026, 10, 20, 12) })
  const { headers } = await key({ limits: { perMinute: 1, perDay: 10 } })
  const ask = (path: string, more = {}) => call('GET', path, undefined, { ...headers, ...more })
  await ask('/v1/pets')
  const plain = await ask('/v1/pets')
  t.equal(typeOf(plain), 'application/json; charset=utf-8')
  t.strictSame(Object.keys(json(plain)), ['code', 'message', 'status'])
  t.equal(plain.headers['vary'], 'Accept', 'a cache keeps the two apart')
  const problem = await ask('/v1/pets?token=x', { accept, 'x-request-id': 'mine-1' })
  t.equal(typeOf(problem), problemType)
  t.equal(problem.headers['vary'], 'Accept')
  const { code, message, status } = json(plain)
  t.strictSame(json(problem), {
    type: 'about:blank',
    title: 'Too Many Requests',
    status,
    detail: message,
    instance: '/v1/pets#mine-1',
    code,
    message,
  })
  t.equal(problem.headers['retry-after'], plain.headers['retry-after'])
  const odd = await call('GET', '//evil', undefined, { accept })
  t.match(json(odd), { status: 400, instance: /^\/#[\w-]+$/ }, 'its path isn’t one of a URI')
  const head = await call('HEAD', '/v1/pets', undefined, { accept })
  t.match(head, { status: 401, text: '', headers: { 'content-type': problemType } })
})

t.test('RFC 9110, 12.5.1: weights decide, and of equals it is JSON', (t) => {
  const preferences: Record<string, boolean> = {
    'application/problem+json': true,
    'Application/Problem+JSON; charset=utf-8': true,
    'application/problem+json, application/json;q=0.9': true,
    'application/problem+json, */*;q=0.1': true,
    'application/json;q=0.5, */*': true,
    'application/json;q=0, application/*;q=0.1': true,
    'application/problem+json, application/json': false,
    'application/problem+json;q=0.5, application/json;q=0.5': false,
    'application/problem+json, */*': false,
    'application/problem+json;q=0': false,
    'application/problem+json;q=x': false,
    'application/*;q=0.4, text/html': false,
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8': false,
    'application/json': false,
    '*/*': false,
    'text/html;q=0.3': false,
    ';;,;q=': false,
    '': false,
  }
  for (const [accepted, prefers] of Object.entries(preferences)) {
    t.equal(prefersProblems(accepted), prefers, accepted)
  }
  t.equal(prefersProblems(undefined), false)
  const long = 'application/problem+json, a/b, '.padEnd(512, 'a')
  t.equal(prefersProblems(long), true, '512 characters')
  t.equal(prefersProblems(`${long} `), false, 'a longer one is as none')
  t.end()
})

t.test('what a backend answers stays as it is, and Vary has what others put there', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"code":"not_found"}')
  })
  const more = 'cors: { origins: [https://app.example] }'
  const { call, key } = await startGateway(t, { upstream, more })
  const { headers } = await key()
  const answer = await call('GET', '/v1/pets/1', undefined, { ...headers, accept })
  t.match(answer, { status: 404, text: '{"code":"not_found"}', headers: { vary: 'Origin' } })
  t.equal(upstream.seen[0]?.headers.accept, accept, 'which sees the wish, too')
  t.equal((await call('GET', '/v1/pets')).headers['vary'], 'Accept, Origin')
})

t.test('RFC 9457, 3: the admin API refuses in the same form', async (t) => {
  const { ask, operate } = await startAdmin(t)
  const missing = await ask('GET', '/admin/keys/nobody', undefined, { accept })
  t.equal(typeOf(missing), problemType)
  t.match(json(missing), {
    title: 'Not Found',
    code: 'not_found',
    instance: /^\/admin\/keys\/nobody#/,
  })
  t.match(json(await operate('GET', '/admin/keys', undefined, { accept })), {
    title: 'Unauthorized',
  })
  t.match(json(await operate('GET', '/nowhere', undefined, { accept })), { title: 'Not Found' })
})

t.test('the plugin’s own form of refusals goes before problem details', async (t) => {
  const { app, headers } = await startApp(t, async (app, options) => {
    await app.register(tollgate, {
      ...options,
      refuse: ({ code }: Refused, { url }, reply) => {
        if (url.endsWith('thrown')) throw new Error('it threw')
        if (!url.endsWith('xml')) return { error: code }
        reply.type('application/xml')
        return '<error/>'
      },
    })
  })
  const asked = { headers: { accept } }
  const own = await app.inject({ url: '/v1/pets', ...asked })
  t.strictSame(own.json(), { error: 'missing_api_key' })
  t.equal(own.headers['content-type'], 'application/json; charset=utf-8')
  const xml = await app.inject({ url: '/v1/xml', ...asked })
  t.match(xml, { body: '<error/>', headers: { 'content-type': /^application\/xml/ } })
  const thrown = await app.inject({ url: '/v1/thrown', ...asked })
  t.equal(thrown.headers['content-type'], problemType)
  t.match(thrown.json(), { title: 'Unauthorized', code: 'missing_api_key' })
  t.equal((await app.inject({ url: '/v1/pets', headers })).statusCode, 200)
})
