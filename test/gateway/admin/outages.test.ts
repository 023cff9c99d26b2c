import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { startAdmin } from '../../support/admin.ts'
import { plans, startUpstream } from '../../support/gateway.ts'
import { json, type Call } from '../../support/http.ts'
import { start } from '../../support/operator.ts'
import { startRedis, type RedisServer } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

t.test('a target tells its answers, its times and its last failure', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url?.includes('broken')) return void request.socket.destroy()
    response.statusCode = request.url?.includes('odd') ? 418 : 200
    response.end()
  })
  const { ask, gateway } = await startAdmin(t, { upstream })
  const { headers } = await gateway.key()
  const call = (path: string) => gateway.call('GET', path, undefined, headers)
  for (const path of ['/v1/a', '/v1/b', '/v1/odd']) await call(path)
  t.equal((await call('/v1/broken')).status, 502)
  const { animals } = json(await ask('GET', '/admin/upstreams')) as Record<string, object>
  const target = Reflect.get(animals ?? {}, upstream.url) as Record<string, unknown>
  t.match(target, {
    healthy: true,
    answers: { '2xx': 2, '4xx': 1, none: 1 },
    lastFailure: { at: /Z$/, cause: /./ },
  })
  t.ok(Number(target['p50Ms']) > 0 && Number(target['p50Ms']) <= Number(target['p95Ms']))
})

t.test('a gateway isn’t ready while no caller can reach it', async (t) => {
  const { gateway, operate } = await startAdmin(t)
  gateway.server.close()
  const ready = await operate('GET', '/readyz')
  t.equal(ready.status, 503)
  t.match(json(ready), { ready: false, listening: false, stopping: false, store: 'reachable' })
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  t.equal((await operate('GET', '/readyz')).status, 200)
})

t.test('what is ready is told member by member', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { operate, ask, gateway, write, url } = await start(t, { upstream, more: plans })
  t.match(json(await operate('GET', '/readyz')), {
    ready: true,
    listening: true,
    stopping: false,
    store: 'reachable',
    upstreams: { animals: { [upstream]: { healthy: true, weight: 1 } } },
  })
  const target = { healthy: true, weight: 1, answers: {}, p50Ms: null, lastFailure: null }
  t.match(json(await ask('GET', '/admin/upstreams')), { animals: { [upstream]: target } })
  t.match(json(await ask('POST', '/admin/upstreams/check', { url: upstream })), {
    upstream: 'animals',
    fit: true,
  })
  write((text) => text.replace('plans:', 'plams:'))
  await until(async () => (await operate('GET', '/readyz')).text.includes('"mistakes":1'))
  t.match(await ask('GET', '/admin/config'), { text: /did you mean plans/ }, 'which, with a token')
  t.equal((await operate('GET', '/readyz')).status, 200, 'it goes on by the one before')
  const { hostname, port } = new URL(url)
  const open = connect(Number(port), hostname)
  t.teardown(() => open.destroy())
  await once(open, 'connect')
  gateway.signal('SIGTERM')
  await until(async () => (await operate('GET', '/readyz').catch(() => undefined))?.status === 503)
  t.match(json(await operate('GET', '/readyz')), { ready: false, stopping: true })
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
      const store = `redis: "${redis.url}", timeout: 1s`
      const { ask, operate } = await startAdmin(t, { store })
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
  file.exec('DROP TABLE list_audit')
  const answer = await ask('POST', `/admin/keys/${String(id)}/disable`)
  const message = 'The change was made (keys.disable), but could not be written to the audit.'
  t.strictSame(json(answer), { code: 'internal_error', message, status: 500 })
  t.match(json(await ask('GET', `/admin/keys/${String(id)}`)), { state: 'disabled' })
})

t.test('a would-be backend is compared as a client would', async (t) => {
  const { signatureHeader, signatureRefused } = await import('../../../shared/signature.ts')
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
    findings: [{ probe, got: /ECONNREFUSED/, breaks: ['it would be marked unhealthy'] }],
  })
})
