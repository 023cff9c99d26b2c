import t from 'tap'
import { deprecatedCalls } from '../../gateway/front/counts/deprecated-calls.ts'
import { loadConfig } from '../../gateway/office/config/load.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { root } from '../support/process.ts'

const sunset = Date.UTC(2030, 11, 5)
const shipped = `deprecations:
  - operation: GET /v1/pets/{petId}
    since: 2025-12-05
    sunset: 2030-12-05
    replacement: /v1/pets?status=available
`
const told = {
  deprecation: '@1764892800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: '</v1/pets?status=available>; rel="successor-version"',
}

t.test('the shipped configuration deprecates what the interface says', (t) => {
  const { deprecations } = loadConfig(`${root}/config/gateway.yaml`, {})
  t.match(deprecations, [
    {
      operation: 'GET /v1/pets/{petId}',
      sinceMs: Date.UTC(2025, 11, 5),
      sunsetMs: sunset,
      replacement: '/v1/pets?status=available',
      afterSunset: 'gone',
    },
  ])
  t.end()
})

t.test('every answer of the operation says so, refusals included, and no other does', async (t) => {
  const { call, key } = await startGateway(t, { more: shipped })
  const { headers } = await key({ limits: { perMinute: 4, perDay: 100 } })
  for (const path of ['/v1/pets/1', '/v1/pets/abc?x=1', '/v1/%70ets/1']) {
    t.match(await call('GET', path, undefined, headers), { status: 200, headers: told }, path)
  }
  t.match(await call('HEAD', '/v1/pets/1', undefined, headers), { status: 200, headers: told })
  t.match(await call('GET', '/v1/pets/1', undefined, headers), { status: 429, headers: told })
  t.match(await call('GET', '/v1/pets/1'), { status: 401, headers: told })
  for (const [method, path] of [
    ['GET', '/v1/pets'],
    ['PATCH', '/v1/pets/1'],
    ['GET', '/v1/pets/1/x'],
  ] as const) {
    const answer = await call(method, path)
    t.strictSame(
      [answer.headers['deprecation'], answer.headers['sunset'], answer.headers['link']],
      [undefined, undefined, undefined],
    )
  }
})

t.test('a link beyond ASCII is escaped, as a header must be', async (t) => {
  const more = shipped.replace('/v1/pets?status=available', '"/v1/größe?q=\\ud800€%20"')
  const { call } = await startGateway(t, { more })
  const { status, headers } = await call('GET', '/v1/pets/1')
  t.equal(status, 401)
  const path = '/v1/gr%C3%B6%C3%9Fe?q=%EF%BF%BD%E2%82%AC%20'
  t.equal(headers['link'], `<${path}>; rel="successor-version"`)
})

t.test(
  'RFC 9745, 3 and RFC 8594, 6: links to what is explained stand beside the backend’s',
  async (t) => {
    const upstream = await startUpstream(t, (_request, response) => {
      response
        .writeHead(200, { Link: '</v1/pets/2>; rel="next"', Deprecation: '@1', Sunset: 'never' })
        .end('{}')
    })
    const docs = `${shipped}    docs: https://docs.example/pets\n`
    const { call, key } = await startGateway(t, { upstream, more: docs })
    const { headers } = await key()
    const answer = await call('GET', '/v1/pets/1', undefined, headers)
    t.strictSame(answer.headers['link'], [
      '</v1/pets/2>; rel="next"',
      told.link,
      '<https://docs.example/pets>; rel="deprecation"',
      '<https://docs.example/pets>; rel="sunset"',
    ])
    t.equal(answer.headers['deprecation'], told.deprecation)
    t.equal(answer.headers['sunset'], told.sunset)
  },
)

t.test(
  'from the sunset on the operation is gone, to the millisecond, or goes on where that is wanted',
  async (t) => {
    let now = sunset - 1
    const gone = await startGateway(t, { more: shipped, clock: () => now })
    const serves = await startGateway(t, {
      more: `${shipped}    afterSunset: serve\n`,
      clock: () => now,
    })
    const [one, other] = [await gone.key(), await serves.key()]
    t.equal((await gone.call('GET', '/v1/pets/1', undefined, one.headers)).status, 200)
    now = sunset
    const answer = await gone.call('GET', '/v1/pets/1', undefined, one.headers)
    t.match(answer, { status: 410, headers: { ...told, 'cache-control': 'no-store' } })
    t.strictSame(json(answer), {
      code: 'gone',
      message: 'This operation has been removed. Use /v1/pets?status=available instead.',
      status: 410,
    })
    t.equal((await gone.call('GET', '/v1/pets', undefined, one.headers)).status, 200)
    t.equal((await gone.call('GET', '/v1/pets/1')).status, 401, 'a stranger is told nothing more')
    t.equal((await serves.call('GET', '/v1/pets/1', undefined, other.headers)).status, 200)
    t.equal(gone.upstream.seen.length, 2)
  },
)

t.test(
  'a brownout is a 503 to its end, gives the day its point back, and then is over',
  async (t) => {
    let now = Date.UTC(2026, 5, 1, 12, 0, 0, 500)
    const more = `${shipped}    brownouts: [ { from: "2026-06-01T12:00:00Z", to: "2026-06-01T12:01:00Z" } ]\n`
    const { call, key, upstream } = await startGateway(t, { more, clock: () => now })
    const { headers } = await key()
    const answer = await call('GET', '/v1/pets/1', undefined, headers)
    t.match(answer, { status: 503, headers: { ...told, 'retry-after': '60' } })
    t.match(json(answer), { message: / scheduled brownout until 12:01:00 UTC \(60 s\)\./ })
    t.match(json(await call('GET', '/v1/quota', undefined, headers)), {
      minute: { remaining: 59 },
      day: { remaining: 1_000 },
    })
    now += 60_000
    t.equal((await call('GET', '/v1/pets/1', undefined, headers)).status, 200)
    t.equal(upstream.seen.length, 1)
  },
)

t.test('who still calls what is deprecated is remembered', async (t) => {
  const now = Date.UTC(2026, 10, 20, 12)
  const gateway = await startGateway(t, { more: shipped, clock: () => now })
  const { call, key, stores, app } = gateway
  const [one, two, other] = [await key({ name: 'One' }), await key(), await key()]
  for (let i = 0; i < 3; i++) await call('GET', `/v1/pets/${i}`, undefined, one.headers)
  await call('HEAD', '/v1/pets/1', undefined, two.headers)
  await call('GET', '/v1/pets', undefined, other.headers)
  await call('GET', '/v1/pets/1')
  await app.close()
  const today = Math.floor(now / 86_400_000)
  const calls = await deprecatedCalls(stores, today - 89, today)
  t.match(
    calls.sort((a, b) => b.calls - a.calls),
    [
      { key: one.key.id, name: 'One', operation: 'GET /v1/pets/{petId}', calls: 3, lastMs: now },
      { key: two.key.id, operation: 'GET /v1/pets/{petId}', calls: 1, lastMs: now },
    ],
  )
  t.equal(calls.length, 2)
})
