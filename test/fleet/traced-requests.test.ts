import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { drain } from '../../shared/serve.ts'
import { traceParentFrom, traceStateFrom } from '../../shared/trace.ts'
import { version } from '../../shared/version.ts'
import { startCollector, type SeenSpan } from '../support/collector.ts'
import { startFleet } from '../support/fleet.ts'
import { configFor, startGateway } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { callersSpan, traced, traceId, tracing } from '../support/spans.ts'
import { until } from '../support/until.ts'
import { folderOf } from '../support/folder.ts'

const canary = 'c4n4ry'

/** The one span of a kind that a service has sent of a trace. */
function one(t: Test, spans: readonly SeenSpan[], service: string, kind: string): SeenSpan {
  const [span, ...others] = spans.filter(
    (each) => each.resource['service.name'] === service && each.kind === kind,
  )
  t.equal(others.length, 0, `${service} has sent one ${kind} span`)
  if (!span) throw new Error(`${service} has sent no ${kind} span`)
  return span
}

t.test('one trace leads from the caller through the gateway to the animal store', async (t) => {
  const collector = await startCollector(t)
  const store = startProcess(t, 'backend/main.ts', {
    env: { PORT: '0', DATABASE: join(folderOf(t), 'animals.db'), LOG_LEVEL: 'info' },
  })
  const { urls, processes, key } = await startFleet(t, {
    upstream: await store.url,
    more: `name: edge-1
plans: { free: { perMinute: unlimited, perDay: 5 } }
${tracing({ ...collector, url: '${OTEL_EXPORTER_OTLP_ENDPOINT:-}' })}`,
    environments: [
      {
        LOG_LEVEL: 'info',
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      },
    ],
  })
  const [gateway] = processes
  if (!gateway) return
  const call = caller(urls[0] ?? '')
  const given = await key()
  const agent = `pets/1 (${given.authorization})`
  const headers = { ...given, cookie: canary, 'user-agent': agent }
  const ask = async (more: Record<string, string>, path = '/v1/pets', body?: object) =>
    (await call(body ? 'POST' : 'GET', `${path}?name=${canary}`, body, { ...headers, ...more }))
      .status
  t.equal(await ask(traced), 200)
  t.equal(await ask({ traceparent: `00-${'a'.repeat(32)}-${callersSpan}-00` }), 200)
  t.equal(await ask({}, '/v1/pets', { name: canary, categoryId: 1 }), 201)
  t.equal(await ask({ traceparent: `00-${traceId}-0-01`, tracestate: 'lost=1' }), 200)
  t.equal(await ask({}, '/v1/pets/0'), 404)
  t.equal(await ask({}), 429)
  t.equal(await ask({ authorization: `Bearer ${canary}` }, `/v1/${headers.authorization}`), 401)
  for (const { signal, ended } of [gateway, store]) {
    signal('SIGTERM')
    t.match(await ended, { code: 0 })
  }

  const traces = grouped(collector.spans)
  t.strictSame(
    [...traces.values()].map((spans) => spans.length).sort(),
    [1, 1, 2, 2, 2, 2],
    'two spans for a forwarded request, one for a refused one, none for an unsampled parent',
  )
  t.notOk(traces.has('a'.repeat(32)))

  const forwarded = traces.get(traceId) ?? []
  const server = one(t, forwarded, 'tollgate', 'server')
  const client = one(t, forwarded, 'tollgate', 'client')
  t.strictSame(
    [server.parent, client.parent],
    [callersSpan, server.id],
    'each is the child of the one before',
  )
  t.strictSame([server.state, client.state], Array(2).fill('vendor=1'))
  t.strictSame([server.name, client.name], ['GET /v1/*', 'GET'])
  const plain = { 'http.request.method': 'GET', 'http.response.status_code': 200 }
  const path = { 'url.path': '/v1/pets', 'url.scheme': 'http', 'network.protocol.version': '1.1' }
  const asked = new URL(urls[0] ?? '')
  const { 'tollgate.key.id': id, 'tollgate.config.hash': hash, ...others } = server.attributes
  t.match(id, /^\w{12}$/)
  t.match(hash, /^\w{12}$/)
  t.strictSame(others, {
    ...plain,
    ...path,
    'http.route': '/v1/*',
    'server.address': asked.hostname,
    'server.port': Number(asked.port),
    'user_agent.original': `pets/1 (Bearer tg_${String(id)}_…)`,
    'tollgate.plan': 'free',
    'tollgate.decision': 'admitted',
  })
  const { hostname, port, origin } = new URL(await store.url)
  t.strictSame(client.attributes, {
    ...plain,
    'url.full': `${origin}/v1/pets`,
    'server.address': hostname,
    'server.port': Number(port),
  })
  t.match(server.events, [{ name: 'tollgate_store', attributes: { 'tollgate.store.ms': Number } }])
  const [{ at } = { at: 0n }] = server.events
  t.ok(
    server.began <= at && at <= client.began,
    'the store has decided before the backend is asked',
  )
  t.ok(client.began >= server.began && client.ended <= server.ended && client.ended > client.began)
  t.match(server.resource, {
    'service.version': version(),
    'service.instance.id': 'edge-1',
    'deployment.environment.name': 'test',
  })
  t.ok(gateway.output().includes(`"trace":"${traceId}"`))

  const names = [...traces.values()].map((spans) => spans.find(({ parent }) => !parent))
  const roots = names.filter((root) => root !== undefined)
  t.equal(roots.length, 5, 'a trace begins here without a parent, and with a malformed one')
  t.ok(roots.every(({ state }) => state === undefined))
  t.ok(
    roots.every(({ traceId }) => gateway.output().includes(`"trace":"${traceId}"`)),
    'the log has the ids of traces that begin here',
  )
  const byStatus = (status: number) =>
    roots.find(({ attributes }) => attributes['http.response.status_code'] === status)
  t.match(byStatus(429)?.attributes, {
    'tollgate.decision': 'rate_limit_exceeded',
    'tollgate.window': 'day',
    'tollgate.key.id': id,
  })
  t.match(byStatus(401)?.attributes, { 'tollgate.decision': 'invalid_api_key' })
  const missing = traces.get(byStatus(404)?.traceId ?? '') ?? []
  t.equal(byStatus(404)?.isError, false, 'a 404 is no failure of the gateway')
  t.match(one(t, missing, 'tollgate', 'client'), {
    isError: true,
    attributes: { 'error.type': '404' },
  })
  t.ok(store.output().includes(`"trace":"${traceId}"`), 'the animal store logs it')

  const sent = collector.bodies.join('\n')
  const [, , secret = ''] = headers.authorization.split('_')
  t.ok(secret.length > 30)
  t.notOk(
    sent.includes(canary) || sent.includes(secret),
    'no token, query, other header or body is in it',
  )
})

function grouped(spans: readonly SeenSpan[]): Map<string, SeenSpan[]> {
  const traces = new Map<string, SeenSpan[]>()
  for (const span of spans) traces.set(span.traceId, [...(traces.get(span.traceId) ?? []), span])
  return traces
}

t.test('the backend gets the gateway’s traceparent, or the caller’s untouched', async (t) => {
  const collector = await startCollector(t)
  const { call, upstream, key } = await startGateway(t, { more: tracing(collector) })
  const { headers } = await key()
  const seenOf = async (more: Record<string, string>) => {
    await call('GET', '/v1/x', undefined, { ...headers, ...more })
    const { rawHeaders = [] } = upstream.seen.at(-1) ?? {}
    const pairs = rawHeaders.flatMap((name, i) => (i % 2 ? [] : [[name, rawHeaders[i + 1]]]))
    return Object.fromEntries(pairs.filter(([name]) => name?.startsWith('trace'))) as Record<
      string,
      string
    >
  }
  const continued = await seenOf(traced)
  t.match(continued, { traceparent: new RegExp(`^00-${traceId}-(?!${callersSpan})\\w{16}-01$`) })
  t.equal(continued['tracestate'], 'vendor=1')
  const unsampled = { traceparent: `00-${traceId}-${callersSpan}-00`, tracestate: 'vendor=2' }
  t.strictSame(await seenOf(unsampled), unsampled)
  const begun = await seenOf({ traceparent: 'nonsense', tracestate: 'vendor=3' })
  t.match(begun, { traceparent: /^00-\w{32}-\w{16}-01$/ })
  t.notOk('tracestate' in begun, 'a tracestate goes with its malformed traceparent')
  t.match(await seenOf({}), { traceparent: /^00-\w{32}-\w{16}-01$/ })
})

t.test('a traceparent is read as W3C Trace Context says', (t) => {
  const ids = `${traceId}-${callersSpan}`
  const parent = { traceId, spanId: callersSpan, isSampled: true }
  t.strictSame(traceParentFrom(`00-${ids}-01`), parent)
  t.strictSame(traceParentFrom(`00-${ids}-03`), parent, 'other flags may come')
  t.strictSame(traceParentFrom(`00-${ids}-02`), { ...parent, isSampled: false })
  t.strictSame(traceParentFrom(`cc-${ids}-01-more`), parent, 'a later version may have more')
  const malformed = [
    undefined,
    '',
    [`00-${ids}-01`, `00-${ids}-01`],
    `00-${ids}-01, 00-${ids}-01`,
    `00-${ids}-01-more`,
    `ff-${ids}-01`,
    `00-${ids}-1`,
    `00-${ids.toUpperCase()}-01`,
    `00-${'0'.repeat(32)}-${callersSpan}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `cc-${ids}-01more`,
    `cc-${ids}-01-${'x'.repeat(201)}`,
  ]
  for (const header of malformed) t.equal(traceParentFrom(header), undefined, String(header))
  const [longest, longer] = [`vendor=${'x'.repeat(505)}`, `vendor=${'x'.repeat(506)}`]
  t.equal(traceStateFrom(longest), longest)
  t.equal(traceStateFrom(longer), undefined, 'a tracestate of over 512 characters is left out')
  t.end()
})

t.test('a reload turns spans on, elsewhere and off, without losing one', async (t) => {
  const [first, second] = [await startCollector(t), await startCollector(t)]
  const { app, call, key, config, upstream } = await startGateway(t)
  const { headers } = await key()
  const ask = () => call('GET', '/v1/x', undefined, headers)
  const changeTo = (more: string) =>
    app.change(
      parseConfig(configFor(upstream.url, `file: ${config.store.file}`, { more }), {}, 'more.yaml'),
    )
  await ask()
  await changeTo(tracing(first))
  await ask()
  await changeTo(`${tracing(first)}\nheaders: { ietf: true }`)
  await ask()
  t.equal(first.spans.length, 0, 'spans wait, also over a reload that changes something else')
  await changeTo(tracing(second))
  await until(() => first.spans.length === 4)
  await ask()
  await changeTo(tracing(second, '0'))
  await until(() => second.spans.length === 2)
  await ask()
  t.strictSame([first.spans.length, second.spans.length], [4, 2])
  t.strictSame(app.front.meters.spans, { sent: 6, failed: 0, dropped: 0 })
})

t.test('the spans of a WebSocket end with it, also if a stop cuts it', async (t) => {
  const collector = await startCollector(t)
  const server = createServer()
  server.on('upgrade', (_request, socket) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    )
    socket.on('error', () => undefined).resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port: serverPort } = server.address() as AddressInfo
  const upstream = { url: `http://127.0.0.1:${serverPort}`, seen: [] }
  const { app, url, call, key } = await startGateway(t, { upstream, more: tracing(collector) })
  const { hostname, port } = new URL(url)
  const { token } = await key()
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.write(
    `GET /v1/echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  t.match(head.toString(), /^HTTP\/1.1 101 /)
  for (let i = 0; i < 10; i++) await call('GET', '/nowhere')
  const stoppedAt = Date.now()
  await drain(app, 0, 0)
  const span = collector.spans.find(({ name }) => name === 'GET /v1/*')
  t.match(span, { attributes: { 'http.response.status_code': 101 } })
  t.ok((span?.ended ?? 0n) / 1_000_000n >= stoppedAt - 2, 'it ends with the connection')
  const client = collector.spans.find(({ kind }) => kind === 'client')
  t.equal(client?.parent, span?.id)
})
