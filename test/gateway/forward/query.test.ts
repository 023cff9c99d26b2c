import t from 'tap'
import { tollgate } from '../../../gateway/plugin.ts'
import { startForCaller } from '../../support/first-caller.ts'
import { startUpstream, type Upstream } from '../../support/gateway.ts'
import { answerFrom } from '../../support/http.ts'
import { startApp } from '../../support/plugin.ts'

/** A backend that answers with the method and the body of each request. */
function startEcho(t: Parameters<typeof startUpstream>[0]): Promise<Upstream> {
  return startUpstream(t, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      const type = request.headers['content-type'] ?? 'none'
      response
        .setHeader('accept-query', '"application/json"')
        .end(`${request.method} ${type} ${body}`)
    })
  })
}

t.test('RFC 10008, 2: QUERY is forwarded with its body, small, long or in chunks', async (t) => {
  const { call, ask, headers, upstream } = await startForCaller(t, { upstream: await startEcho(t) })
  const answer = await call('QUERY', '/v1/pets?page=2', { status: 'sold' }, headers)
  t.match(answer, { status: 200, text: 'QUERY application/json {"status":"sold"}' })
  t.equal(answer.headers['accept-query'], '"application/json"')
  t.equal(upstream.seen[0]?.url, '/v1/pets?page=2')
  t.equal((await call('QUERY', '/v1/pets', 'x'.repeat(100_000), headers)).text.length, 100_023)
  const chunks = 'Content-Type: text/x\r\nTransfer-Encoding: chunked\r\n'
  const chunked = await ask('QUERY /v1/pets', chunks, '3\r\nabc\r\n0\r\n\r\n')
  t.match(chunked, /QUERY text\/x abc/)
  const long = await call('QUERY', '/v1/pets', 'x'.repeat(1024 ** 2 + 1), headers)
  t.equal(long.status, 413, 'a body has its limit, as for any method')
  const before = upstream.seen.length
  const untyped = await call('QUERY', '/v1/pets', undefined, headers)
  t.match(untyped, { status: 400, text: /"A QUERY needs a Content-Type, / })
  t.equal(upstream.seen.length, before)
})

t.test('QUERY is a method of its own: GET doesn’t include it', async (t) => {
  const { call, headers, key, upstream } = await startForCaller(t, {
    upstream: await startEcho(t),
    routes: `[
      { path: /v1/get, upstream: animals, methods: [GET] },
      { path: /v1/query, upstream: animals, methods: [QUERY], cost: 3 },
      { path: /v1/query, upstream: animals },
    ]`,
    more: `
plans:
  free: { perMinute: 60, perDay: 1000 }
  reads: { perMinute: 60, perDay: 1000, methods: [GET] }
deprecations: [ { operation: QUERY /v1/query, since: 2025-12-05 } ]`,
  })
  const refused = await call('QUERY', '/v1/get', '{}', headers)
  t.match(refused, { status: 405, headers: { allow: 'GET, HEAD' } })
  const { headers: fresh } = await key()
  const asked = await call('QUERY', '/v1/query', '{}', fresh)
  t.match(asked, { status: 200, headers: { 'x-ratelimit-remaining': '57' } })
  t.match(asked.headers['deprecation'], /^@\d+$/)
  const got = await call('GET', '/v1/query', undefined, fresh)
  t.match(got, { status: 200, headers: { 'x-ratelimit-remaining': '56' } })
  t.equal(got.headers['deprecation'], undefined)
  const { headers: reads } = await key({ plan: 'reads' })
  t.equal((await call('QUERY', '/v1/query', '{}', reads)).status, 403)
  const { headers: queries } = await key({ methods: ['QUERY'] })
  t.equal((await call('QUERY', '/v1/query', '{}', queries)).status, 200)
  t.equal((await call('GET', '/v1/query', undefined, queries)).status, 403)
  t.equal(upstream.seen.length, 3)
})

t.test(
  'RFC 10008, 2: QUERY may be repeated, so another target gets a body that was kept whole',
  async (t) => {
    const echo = await startEcho(t)
    const { call, ask, headers } = await startForCaller(t, {
      targets: `[ "http://127.0.0.1:1", "${echo.url}" ]`,
      upstreamMore: 'health: { unhealthyAfter: 1000 }',
    })
    for (let i = 0; i < 4; i++) {
      t.match(await call('QUERY', '/v1/x', '{"a":1}', headers), { status: 200, text: /\{"a":1\}$/ })
    }
    const statusesOf = async (send: () => Promise<number>): Promise<number[]> => {
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push(await send())
      return statuses.sort()
    }
    const chunks = async () =>
      answerFrom(
        await ask(
          'QUERY /v1/x',
          'Content-Type: text/x\r\nTransfer-Encoding: chunked\r\n',
          '1\r\na\r\n0\r\n\r\n',
        ),
      )
    t.strictSame(
      await statusesOf(async () => (await chunks()).status),
      [200, 200, 502, 502],
      'one that is streamed goes nowhere else',
    )
    t.strictSame(
      await statusesOf(async () => (await call('PUT', '/v1/x', '{}', headers)).status),
      [200, 200, 502, 502],
      'nor does any other method with a body',
    )
  },
)

t.test('pages may ask with QUERY, and read which queries are understood', async (t) => {
  const { call, headers } = await startForCaller(t, {
    upstream: await startEcho(t),
    more: 'cors: { origins: [https://app.example] }',
  })
  const origin = 'https://app.example'
  const asked = { origin, 'access-control-request-method': 'QUERY' }
  const { status, headers: allowed } = await call('OPTIONS', '/v1/pets', undefined, asked)
  t.equal(status, 204)
  t.match(String(allowed['access-control-allow-methods']).split(', '), /QUERY/)
  const answer = await call('QUERY', '/v1/pets', '{}', { ...headers, origin })
  t.match(answer.headers['access-control-expose-headers'], /, Accept-Query$/)
})

t.test('an app that uses the plugin forwards QUERY too', async (t) => {
  const { app, headers, upstream } = await startApp(t, async (app, options) => {
    await app.register(tollgate, options)
  })
  const types = { ...headers, 'content-type': 'application/json' }
  const asked = { method: 'QUERY', url: '/v1/pets', headers: types, payload: '{}' } as const
  t.equal((await app.inject(asked)).statusCode, 200)
  t.equal(upstream.seen[0]?.method, 'QUERY')
})
