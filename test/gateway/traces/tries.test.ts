import t from 'tap'
import { serverAttributes } from '../../../shared/spans/http.ts'
import { startCollector } from '../../support/collector.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { traced, tracing } from '../../support/spans.ts'
import { until } from '../../support/until.ts'

t.test(
  'OpenTelemetry, HTTP client spans: each try has one, and its target is told of it',
  async (t) => {
    const collector = await startCollector(t)
    const targets = '[ "http://127.0.0.1:1", "http://127.0.0.2:1" ]'
    const { app, call, key, config } = await startGateway(t, { targets, more: tracing(collector) })
    const { headers } = await key()
    t.equal((await call('GET', '/v1/x', undefined, headers)).status, 502)
    t.equal((await call('GET', '/nowhere', undefined, headers)).status, 404)
    await app.change({ ...config, traces: undefined })
    await until(() => collector.spans.length === 4)
    const [failed, first, client, nowhere] = collector.spans
    t.match(failed, { isError: true, attributes: { 'error.type': 'bad_gateway' } })
    t.match(first, {
      isError: true,
      parent: failed?.id,
      attributes: { 'error.type': 'bad_gateway', 'server.port': 1 },
    })
    t.notOk('http.request.resend_count' in (first?.attributes ?? {}))
    t.not(first?.attributes['server.address'], client?.attributes['server.address'])
    t.ok(first && client && first.ended <= client.began && first.id !== client.id)
    t.match(client, {
      isError: true,
      parent: failed?.id,
      attributes: { 'http.request.resend_count': 1, 'error.type': 'bad_gateway', 'server.port': 1 },
    })
    t.notOk('http.response.status_code' in (client?.attributes ?? {}))
    t.equal(nowhere?.name, 'GET', 'a path without a route gives no span a name')
  },
)

t.test('a second try goes on with its own traceparent, and has the answer', async (t) => {
  const collector = await startCollector(t)
  const upstream = await startUpstream(t)
  const targets = `[ "http://127.0.0.1:1", "${upstream.url}" ]`
  const { app, call, key, config } = await startGateway(t, {
    targets,
    more: tracing(collector),
    upstreamMore: 'health: { unhealthyAfter: 1000 }',
  })
  const { headers } = await key()
  for (let i = 0; i < 2; i++) {
    t.equal((await call('GET', '/v1/x', undefined, { ...headers, ...traced })).status, 200)
  }
  await app.change({ ...config, traces: undefined })
  await until(() => collector.spans.length === 5)
  const clients = collector.spans.filter(({ kind }) => kind === 'client')
  const [failed] = clients.filter(({ isError }) => isError)
  const again = clients.find(({ attributes }) => attributes['http.request.resend_count'] === 1)
  t.match(again, { isError: false, attributes: { 'http.response.status_code': 200 } })
  t.equal(again?.parent, failed?.parent)
  const told = upstream.seen.map((request) => String(request.headers['traceparent']))
  t.equal(told.length, 2)
  t.ok(told.some((each) => each.includes(again?.id ?? 'none')))
  t.notOk(told.some((each) => each.includes(failed?.id ?? '')))
})

t.test(
  'OpenTelemetry, HTTP server spans: the host and the client are bounded, and never a token',
  (t) => {
    const attributesOf = (more: object) =>
      serverAttributes({
        method: 'GET',
        path: '/',
        scheme: 'https',
        route: '/',
        status: 200,
        ...more,
      })
    const secret = 'x'.repeat(38)
    const told = attributesOf({
      userAgent: `${secret} tg_abcdefghijkl_${secret} ${'y'.repeat(600)}`,
    })
    const agent = String(told['user_agent.original'])
    t.equal(agent.length, 256)
    t.notMatch(agent, secret)
    t.match(attributesOf({ host: 'api.example' }), {
      'server.address': 'api.example',
      'server.port': 443,
    })
    t.match(attributesOf({ host: '[::1]:80' }), { 'server.address': '::1', 'server.port': 80 })
    for (const host of ['a b', 'x'.repeat(300), 'a:b', 'user@host', '']) {
      t.notOk('server.address' in attributesOf({ host }), host)
    }
    t.end()
  },
)
