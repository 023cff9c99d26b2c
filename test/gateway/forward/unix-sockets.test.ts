import { createServer, request } from 'node:http'
import type { Socket } from 'node:net'
import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { startCollector } from '../../support/collector.ts'
import { startForCaller } from '../../support/first-caller.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { token } from '../../support/operator.ts'
import { traced, tracing } from '../../support/spans.ts'
import { socketPathFor } from '../../support/unix-socket.ts'
import { until } from '../../support/until.ts'

t.test(
  'a target at a Unix socket is asked as localhost, beside targets of other kinds',
  async (t) => {
    const path = socketPathFor(t)
    const name = `unix:${path}`
    const local = await startUpstream(t, undefined, path)
    const remote = await startUpstream(t)
    const log: string[] = []
    const { get, call, headers } = await startForCaller(t, {
      targets: `[ "${local.url}", { url: "${remote.url}", weight: 1 } ]`,
      log: { level: 'info', target: { write: (line: string) => void log.push(line) } },
    })
    for (let i = 0; i < 4; i++) t.equal((await get('/v1/x?y=1')).text, '{"up":"stream"}')
    t.equal((await call('POST', '/v1/x', { a: 1 }, headers)).status, 200)
    t.equal(local.seen.length, 3)
    t.equal(remote.seen.length, 2)
    t.match(local.seen[0], { url: '/v1/x?y=1', headers: { host: 'localhost' } })
    t.ok(log.some((line) => (JSON.parse(line) as { target?: string }).target === name))
  },
)

t.test('its Location at localhost leads to the gateway', async (t) => {
  const local = await startUpstream(
    t,
    ({ headers }, response) => {
      response.writeHead(302, { location: `http://${headers.host}/api/y?z=1` }).end()
    },
    socketPathFor(t),
  )
  const { get } = await startForCaller(t, {
    upstream: local,
    routes: '[ { path: /v1/*, upstream: animals, rewrite: /api/* } ]',
  })
  t.match(await get('/v1/x'), { status: 302, headers: { location: '/v1/y?z=1' } })
  t.equal(local.seen[0]?.url, '/api/x')
})

t.test('a WebSocket goes through it', async (t) => {
  const path = socketPathFor(t)
  const server = createServer().on('upgrade', (_request, socket: Socket) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  t.teardown(() => void server.close())
  const { url, headers } = await startForCaller(t, { targets: `[ "unix:${path}" ]` })
  const asked = request(`${url}/v1/x`, {
    headers: { ...headers, connection: 'Upgrade', upgrade: 'websocket' },
  })
  asked.end()
  const text = await new Promise<string>((resolve, reject) => {
    asked.once('error', reject)
    asked.once('upgrade', (_response, socket) => {
      socket.once('data', (bytes: Buffer) => {
        socket.destroy()
        resolve(bytes.toString())
      })
      socket.write('ping')
    })
  })
  t.equal(text, 'ping')
})

t.test('one at which nobody listens is out, and back when somebody does', async (t) => {
  for (const health of ['every: 20ms', 'path: /healthz, every: 20ms']) {
    const path = socketPathFor(t)
    const remote = await startUpstream(t)
    const { get, app } = await startForCaller(t, {
      targets: `[ "unix:${path}", "${remote.url}" ]`,
      upstreamMore: `health: { ${health}, unhealthyAfter: 1 }`,
      store: 'file: ":memory:"',
    })
    const isOut = () =>
      app.front.upstreams.all.some(({ targets }) => targets.some(({ isHealthy }) => !isHealthy))
    for (let i = 0; i < 4; i++) t.equal((await get('/v1/x')).status, 200, health)
    await until(isOut)
    const local = await startUpstream(t, undefined, path)
    await until(() => !isOut())
    const before = local.seen.length
    for (let i = 0; i < 4; i++) t.equal((await get('/v1/x')).status, 200)
    t.ok(local.seen.length > before)
  }
})

t.test('operators see it by its URL, and spans have its path', async (t) => {
  const path = socketPathFor(t)
  const name = `unix:${path}`
  const local = await startUpstream(t, undefined, path)
  const collector = await startCollector(t)
  const { gateway, ask } = await startAdmin(t, { upstream: local, more: tracing(collector) })
  const { headers } = await gateway.key()
  const answer = await gateway.call('GET', '/v1/x?secret=1', undefined, { ...headers, ...traced })
  t.equal(answer.status, 200)
  t.match(json(await ask('GET', '/admin/upstreams')), {
    animals: { [name]: { healthy: true } },
  })
  const metrics = (await ask('GET', '/metrics')).text
  t.ok(metrics.includes(`target="${name}"`), 'in metrics')
  await gateway.app.close()
  const span = collector.spans.find(({ kind }) => kind === 'client')
  t.match(span?.attributes, {
    'url.full': 'http://localhost/v1/x',
    'server.address': path,
    'network.transport': 'unix',
  })
  t.notOk('server.port' in (span?.attributes ?? {}))
})

t.test('a would-be backend at one is checked', async (t) => {
  const local = await startUpstream(t, undefined, socketPathFor(t))
  const support = 'token-of-the-support-team'
  const admin = await startAdmin(t, {
    tokens: `alice:${token},bob/support:${support}`,
    upstreamMore: 'health: { path: /healthz }, probes: [ { request: GET /v1/x } ]',
  })
  const check = (by: string) =>
    admin.operate(
      'POST',
      '/admin/upstreams/check',
      { url: local.url },
      { authorization: `Bearer ${by}` },
    )
  t.match(json(await check(support)), { code: 'forbidden', message: /role all/ })
  t.equal(local.seen.length, 0)
  t.match(json(await check(token)), { url: local.url, fit: true })
  t.equal(local.seen.at(-1)?.headers.host, 'localhost')
})
