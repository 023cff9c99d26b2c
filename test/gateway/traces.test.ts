import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseConfig } from '../../gateway/config/load.ts'
import { openSpans } from '../../shared/spans/open.ts'
import type { Span } from '../../shared/spans/span.ts'
import { traceParentFrom } from '../../shared/trace.ts'
import { version } from '../../shared/version.ts'
import { startCollector, type Collector, type SeenSpan } from '../support/collector.ts'
import { startFleet } from '../support/fleet.ts'
import { configFor, startGateway } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { until } from '../support/until.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callersSpan = '00f067aa0ba902b7'
const traced = { traceparent: `00-${traceId}-${callersSpan}-01`, tracestate: 'vendor=1' }
const canary = 'c4n4ry'

/** Settings that send all spans to a collector, and let a gateway stop at once. */
function tracing({ url }: Collector, sample = '100%'): string {
  return `traces: { to: "${url}", sample: ${sample} }\ndrain: 0s\nshutdown: 0s`
}

/** The one span of a kind that a service has sent of a trace. */
function one(t: Test, spans: readonly SeenSpan[], service: string, kind: string): SeenSpan {
  const [span, ...others] = spans.filter(
    (each) => each.resource['service.name'] === service && each.kind === kind,
  )
  t.equal(others.length, 0, `${service} has sent one ${kind} span`)
  if (!span) throw new Error(`${service} has sent no ${kind} span`)
  return span
}

t.test('one trace leads from the caller through the gateway and the animal store', async (t) => {
  const collector = await startCollector(t)
  const store = startProcess(t, 'backend/main.ts', {
    env: {
      ...{ PORT: '0', DATABASE: join(t.testdir(), 'animals.db'), LOG_LEVEL: 'info' },
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    },
  })
  const { urls, processes, key } = await startFleet(t, {
    upstream: await store.url,
    more: `name: edge-1
plans: { free: { perMinute: unlimited, perDay: 5 } }
${tracing({ ...collector, url: '${OTEL_EXPORTER_OTLP_ENDPOINT:-}' })}`,
    environments: [
      {
        LOG_LEVEL: 'info',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      },
    ],
  })
  const [gateway] = processes
  if (!gateway) return
  const call = caller(urls[0] ?? '')
  const headers = { ...(await key()), cookie: canary, 'user-agent': canary }
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
  gateway.child.kill('SIGTERM')
  await gateway.ended
  store.child.kill('SIGTERM')
  await store.ended

  const traces = grouped(collector.spans)
  t.strictSame(
    [...traces.values()].map((spans) => spans.length).sort(),
    [1, 1, 3, 3, 3, 3],
    'three spans for a forwarded request, one for a refused one, none for an unsampled parent',
  )
  t.notOk(traces.has('a'.repeat(32)))

  const forwarded = traces.get(traceId) ?? []
  const server = one(t, forwarded, 'tollgate', 'server')
  const client = one(t, forwarded, 'tollgate', 'client')
  const animals = one(t, forwarded, 'animal-store', 'server')
  t.strictSame(
    [server.parent, client.parent, animals.parent],
    [callersSpan, server.id, client.id],
    'each is the child of the one before',
  )
  t.strictSame([server.state, client.state, animals.state], Array(3).fill('vendor=1'))
  t.strictSame([server.name, client.name, animals.name], ['GET /v1/*', 'GET', 'GET /v1/pets'])
  const plain = { 'http.request.method': 'GET', 'http.response.status_code': 200 }
  const path = { 'url.path': '/v1/pets', 'url.scheme': 'http' }
  const { 'tollgate.key.id': id, 'tollgate.config.hash': hash, ...others } = server.attributes
  t.match(id, /^\w{12}$/)
  t.match(hash, /^\w{12}$/)
  t.strictSame(others, {
    ...plain,
    ...path,
    'http.route': '/v1/*',
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
  t.strictSame(animals.attributes, { ...plain, ...path, 'http.route': '/v1/pets' })
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
  t.equal(one(t, missing, 'animal-store', 'server').name, 'GET /v1/pets/:petId')

  const sent = collector.bodies.join('\n')
  const [, , secret = ''] = headers.authorization.split('_')
  t.ok(secret.length > 30)
  t.notOk(
    sent.includes(canary) || sent.includes(secret),
    'no token, query, header or body is in it',
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
  ]
  for (const header of malformed) t.equal(traceParentFrom(header), undefined, String(header))
  t.end()
})

t.test('a failed request has one client span over all tries', async (t) => {
  const collector = await startCollector(t)
  const targets = '[ "http://127.0.0.1:1", "http://127.0.0.2:1" ]'
  const { app, call, key, config } = await startGateway(t, { targets, more: tracing(collector) })
  const { headers } = await key()
  t.equal((await call('GET', '/v1/x', undefined, headers)).status, 502)
  t.equal((await call('GET', '/nowhere', undefined, headers)).status, 404)
  await app.change({ ...config, traces: undefined })
  await until(() => collector.spans.length === 3)
  const [failed, client, nowhere] = collector.spans
  t.match(failed, { isError: true, attributes: { 'error.type': 'bad_gateway' } })
  t.match(client, {
    isError: true,
    parent: failed?.id,
    attributes: { 'http.request.resend_count': 1, 'error.type': 'bad_gateway', 'server.port': 1 },
  })
  t.notOk('http.response.status_code' in (client?.attributes ?? {}))
  t.equal(nowhere?.name, 'GET', 'a path without a route gives no span a name')
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
  t.strictSame(app.core.meters.spans, { sent: 6, failed: 0, dropped: 0 })
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
  const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { urls, processes, key } = await startFleet(t, { upstream, more: tracing(collector) })
  const { hostname, port } = new URL(urls[0] ?? '')
  const { authorization } = await key()
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.write(
    `GET /v1/echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: ${authorization}\r\n\r\n`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  t.match(head.toString(), /^HTTP\/1.1 101 /)
  for (let i = 0; i < 10; i++) await caller(urls[0] ?? '')('GET', '/nowhere')
  const stoppedAt = Date.now()
  processes[0]?.child.kill('SIGTERM')
  t.match(await processes[0]?.ended, { code: 0 })
  const span = collector.spans.find(({ name }) => name === 'GET /v1/*')
  t.match(span, { attributes: { 'http.response.status_code': 101 } })
  t.ok((span?.ended ?? 0n) / 1_000_000n >= stoppedAt - 2, 'it ends with the connection')
  const client = collector.spans.find(({ kind }) => kind === 'client')
  t.equal(client?.parent, span?.id)
})

const anySpan: Span = {
  ...{ name: 'GET', kind: 'server', traceId, id: callersSpan, parentId: undefined },
  ...{ hasRemoteParent: false, state: undefined, beganAtMs: 1, endedAtMs: 2, attributes: {} },
  ...{ event: undefined, isError: false },
}

t.test('a collector that hangs costs spans and one line, until it is back', async (t) => {
  const collector = await startCollector(t)
  const counts = { sent: 0, failed: 0, dropped: 0 }
  const told: (string | undefined)[] = []
  const spans = await openSpans({
    ...{ to: collector.url, setting: 'traces.to', service: 'test', instance: 'here', counts },
    trouble: (error) => told.push(error?.message),
    times: { everyMs: 20, timeoutMs: 200 },
  })
  collector.answer(() => undefined)
  // The first batch is under way at once; 10,000 others find room.
  for (let i = 0; i < 20_000; i++) spans.add(anySpan)
  t.strictSame(counts, { sent: 0, failed: 0, dropped: 9_488 })
  await until(() => counts.failed >= 1_024)
  t.strictSame(told, ['Request timed out'], 'two batches are lost, and one line tells of it')
  collector.answer((response) => void response.end('{}'))
  await until(() => counts.sent + counts.failed === 10_512)
  t.strictSame(told.slice(1), [undefined])
  collector.answer((response) => void response.writeHead(400).end('no'))
  spans.add(anySpan)
  await until(() => told.length === 3)
  collector.answer(() => undefined)
  spans.add(anySpan)
  const closingFrom = performance.now()
  await spans.close()
  t.ok(performance.now() - closingFrom < 4_000, 'a stop waits for two seconds at most')
  t.equal(told.length, 3)
})

t.test('any text and any number arrives, in spans of up to a page', async (t) => {
  const collector = await startCollector(t)
  const counts = { sent: 0, failed: 0, dropped: 0 }
  const spans = await openSpans({
    ...{ to: collector.url, setting: 'traces.to', service: 'test', instance: 'here', counts },
    trouble: (error) => t.error(error),
    times: { everyMs: 20, timeoutMs: 5_000 },
  })
  const texts = [
    '',
    'a "b" \\',
    'Häßliche Grüße, 猫 🐈',
    '\ud800',
    '\u0000\n\t\u007f\u2028',
    'x'.repeat(50_000),
  ]
  // More of each than is kept, and more than a page holds.
  const values = [...texts, ...Array.from({ length: 300 }, (_, i) => [`v${i}`, i, i + 0.5]).flat()]
  for (const value of values) spans.add({ ...anySpan, name: 'GET /é', attributes: { value } })
  spans.add({ ...anySpan, name: 'x'.repeat(65_536) })
  t.equal(counts.dropped, 1, 'a span longer than a page finds no room')
  await until(() => counts.sent === values.length)
  const arrived = collector.spans.map(({ name, attributes }) => [name, attributes['value']])
  t.strictSame(
    arrived,
    values.map((value) => ['GET /é', value]),
  )
  await spans.close()
})

t.test('spans wait in 16 MiB, which others use after them', async (t) => {
  const collector = await startCollector(t)
  const counts = { sent: 0, failed: 0, dropped: 0 }
  const spans = await openSpans({
    ...{ to: collector.url, setting: 'traces.to', service: 'test', instance: 'here', counts },
    trouble: (error) => t.error(error),
    times: { everyMs: 20, timeoutMs: 5_000 },
  })
  const long = 'x'.repeat(4_000)
  for (let round = 1; round <= 4; round++) {
    for (let i = 0; i < 3_000; i++) spans.add({ ...anySpan, name: `${round} ${i} ${long}` })
    await until(() => counts.sent === round * 3_000)
  }
  t.equal(counts.dropped, 0, 'none of 50 MB is lost')
  const names = new Set(collector.spans.map(({ name }) => name.replace(long, '')))
  t.equal(names.size, 12_000)
  for (let i = 0; i < 9_000; i++) spans.add({ ...anySpan, name: long })
  t.ok(counts.dropped > 4_000 && counts.dropped < 6_000, `${counts.dropped} find no room`)
  await until(() => counts.sent + counts.dropped === 12_000 + 9_000)
  await spans.close()
})

/** A script that writes down, at the end of its process, the URLs of all code that was loaded. */
const listing = `import { Session } from 'node:inspector'
import { writeFileSync } from 'node:fs'
const session = new Session()
session.connect()
const loaded = []
session.on('Debugger.scriptParsed', ({ params }) => loaded.push(params.url))
session.post('Debugger.enable')
process.on('exit', () => writeFileSync(process.env.LOADED, loaded.join('\\n')))
`

/** A script that hides OpenTelemetry's packages. */
const hiding = `import { register } from 'node:module'
register('data:text/javascript,' + encodeURIComponent(\`export function resolve(name, context, next) {
  return next(name.startsWith('@opentelemetry/') ? name + '-that-nobody-installed' : name, context)
}\`))
`

t.test('nothing of OpenTelemetry is loaded where no spans are made', async (t) => {
  const collector = await startCollector(t)
  const folder = t.testdir({ 'list.mjs': listing })
  const shell = `export NODE_OPTIONS=--import=${join(folder, 'list.mjs')}`
  const loadedBy = async (name: string, file: string, env: Record<string, string>) => {
    const list = join(folder, `${name}.txt`)
    const service = startProcess(t, file, {
      env: { LOADED: list, LOG_LEVEL: 'warn', ...env },
      shell,
    })
    await caller(await service.url)('GET', '/v1/pets', undefined, {
      ...traced,
      connection: 'close',
    })
    service.child.kill('SIGTERM')
    await service.ended
    const urls = readFileSync(list, 'utf8').split('\n')
    t.ok(
      urls.some((url) => url.endsWith('/shared/service.ts')),
      `${name} has listed its code`,
    )
    // prom-client loads the API, which is nothing but interfaces, for its exemplars.
    return urls.filter((url) => /@opentelemetry\/(?!api\/)/.test(url)).length
  }
  const gateway = (name: string, more: string) => {
    const file = join(folder, `${name}.yaml`)
    const store = `file: ${join(folder, `${name}.db`)}`
    writeFileSync(file, configFor('http://127.0.0.1:1', store, { more: `${more}\ndrain: 0s` }))
    return loadedBy(name, 'gateway/main.ts', { TOLLGATE_CONFIG: file })
  }
  const backend = (name: string, env: Record<string, string>) =>
    loadedBy(name, 'backend/main.ts', { PORT: '0', DATABASE: join(folder, `${name}.db`), ...env })
  t.equal(await gateway('without', ''), 0)
  t.equal(await gateway('none', `traces: { to: "${collector.url}", sample: 0 }`), 0)
  t.ok((await gateway('some', `traces: { to: "${collector.url}", sample: 0.001% }`)) > 20)
  t.equal(await backend('store', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }), 0)
  t.ok((await backend('traced', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })) > 20)
})

t.test('where spans can’t be made, a process says why and doesn’t start', async (t) => {
  const folder = t.testdir({ 'hide.mjs': hiding })
  const shell = `export NODE_OPTIONS=--import=${join(folder, 'hide.mjs')}`
  const file = join(folder, 'gateway.yaml')
  const more = 'traces: { to: "http://127.0.0.1:4318" }'
  writeFileSync(file, configFor('http://127.0.0.1:1', `file: ${join(folder, 'g.db')}`, { more }))
  const gateway = startProcess(t, 'gateway/main.ts', { env: { TOLLGATE_CONFIG: file }, shell })
  const sayingOf = async (to: string, shell = ':') => {
    const env = { PORT: '0', DATABASE: join(folder, 'a.db'), OTEL_EXPORTER_OTLP_ENDPOINT: to }
    const { ended, output } = startProcess(t, 'backend/main.ts', { env, shell })
    t.match(await ended, { code: 2 })
    return output()
  }
  t.match(await gateway.ended, { code: 2 })
  const missing =
    'asks for spans, and OpenTelemetry’s packages aren’t installed: npm install @opentelemetry/api@'
  t.match(gateway.output(), `traces.to ${missing}`)
  t.match(await sayingOf('http://127.0.0.1:4318', shell), `OTEL_EXPORTER_OTLP_ENDPOINT ${missing}`)
  t.match(
    await sayingOf('collector:4318'),
    'OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL without /v1/traces, such as http://127.0.0.1:4318, got "collector:4318"',
  )
})
