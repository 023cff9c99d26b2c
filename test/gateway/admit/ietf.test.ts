import t from 'tap'
import { commandLine } from '../../support/command-line.ts'
import { messagesOf } from '../../support/configuration.ts'
import { startForCaller } from '../../support/first-caller.ts'
import { configFor, startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'

const noon = Date.UTC(2026, 10, 20, 12, 0, 10)

for (const ietf of ['true', 'draft-11']) {
  t.test(
    `draft-ietf-httpapi-ratelimit-headers-11, 3 and 4: the fields of ietf: ${ietf}`,
    async (t) => {
      const { call, key } = await startGateway(t, {
        clock: () => noon,
        more: `headers: { ietf: ${ietf} }`,
      })
      const { headers } = await key()
      const answer = await call('GET', '/v1/pets', undefined, headers)
      t.equal(answer.headers['ratelimit-policy'], '"minute";q=60;w=60, "day";q=1000;w=86400')
      t.equal(answer.headers['ratelimit'], '"minute";r=59;t=50')
      const stranger = await call('GET', '/v1/pets')
      t.equal(stranger.headers['ratelimit'], '"minute";r=59;t=50')
    },
  )
}

t.test('RFC 9110, 10.2.3: no RateLimit tells a later time than Retry-After', async (t) => {
  const retries = ['7', '51', '50', new Date(noon + 30_000).toUTCString(), 'soon', '']
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    const retryAfter = retries[Number(url.slice(-1))]
    if (retryAfter) response.setHeader('retry-after', retryAfter)
    response.writeHead(url.includes('fine') ? 200 : 503).end('{}')
  })
  const { get, call, headers } = await startForCaller(t, {
    clock: () => noon,
    upstream,
    more: `headers: { ietf: draft-11 }
deprecations:
  - operation: GET /v1/brown
    since: 2025-12-05
    sunset: 2030-12-05
    brownouts: [ { from: 2026-11-20T12:00:00Z, to: 2026-11-20T12:00:20Z } ]`,
  })
  const toldAt = async (path: string): Promise<boolean> => {
    const answer = await get(path)
    t.match(answer.headers['ratelimit-policy'], /^"minute";q=/, path)
    return answer.headers['ratelimit'] !== undefined
  }
  t.strictSame(
    await Promise.all(retries.map((_, i) => toldAt(`/v1/${i}`))),
    [false, true, true, false, true, true],
    'of a backend',
  )
  t.equal(await toldAt('/v1/fine/0'), true, 'a fine answer passes none on')
  const brownout = await call('GET', '/v1/brown', undefined, headers)
  t.match(brownout, { status: 503, headers: { 'retry-after': '10', ratelimit: undefined } })
})

t.test('RFC 9110, 10.2.3: a refusal by a limit tells one time in both', async (t) => {
  let now = noon
  const { call, key } = await startGateway(t, {
    clock: () => now,
    more: 'headers: { ietf: draft-11 }\nbans: { strikes: 1, grace: 0s }',
  })
  const { headers } = await key({ limits: { perMinute: 1, perDay: 10 } })
  const ask = () => call('GET', '/v1/pets', undefined, headers)
  await ask()
  t.match((await ask()).headers, { 'retry-after': '50', ratelimit: '"minute";r=0;t=50' })
  now += 1_000
  const banned = await ask()
  t.equal(json(banned)['code'], 'key_banned')
  t.match(banned.headers, { 'retry-after': '60', ratelimit: '"minute";r=0;t=60' })
})

t.test('RFC 9651, 3.3.1: a limit has at most 15 digits', async (t) => {
  const most = 999_999_999_999_999
  const { desk } = await startGateway(t)
  const limits = { perMinute: 1, perDay: most }
  const { key } = await desk.create({ name: 'Most', plan: 'free', limits })
  t.match(key.limits, limits)
  await t.rejects(desk.create({ name: 'Over', plan: 'free', limits: { perDay: most + 1 } }), {
    message: 'perDay must have at most 15 digits, or be "unlimited", got 1000000000000000',
  })
  const withDay = (day: number) => {
    const plans = `plans: { free: { perMinute: 1, perDay: ${day} } }`
    return messagesOf(configFor('http://127.0.0.1:8090', 'file: x.db', { more: plans }))
  }
  t.strictSame(withDay(most), [])
  t.match(withDay(most + 1), [/ plans\.free\.perDay must have at most 15 digits, or /])
})

t.test('config check says which draft the fields follow', async (t) => {
  for (const [ietf, told] of [
    ['true', / RateLimit and RateLimit-Policy are sent as of draft-11\.\n$/],
    ['draft-11', /as of draft-11\.\n$/],
    ['false', / is valid: [^\n]+\.\n$/],
  ] as const) {
    const { run } = await commandLine(t, 'file: $DIR/x.db', `headers: { ietf: ${ietf} }`)
    t.match(await run('config', 'check'), { code: 0, stdout: told }, ietf)
  }
})
